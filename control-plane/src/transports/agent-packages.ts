// The door that hosts fetch the agents' packages by: it sends them on to the address the operator has
// chosen. So a host needs to know one address only, and what it installs is the same wherever that
// leads, because the hash of each package is signed.
import { Refusal } from "@hawser/contract";
import { Hono } from "hono";
import { respond } from "./rest.ts";

/** A package as npm's registries name it, and nothing that could lead elsewhere. */
const packagePath = /^(?:@[\w.-]+\/)?[\w.-]+\/-\/[\w.-]+\.tgz$/;
const prefix = "/releases/packages/";

export function agentPackageDoor(packages: string | undefined): Hono {
  const app = new Hono();
  app.get(`${prefix}*`, (c) => {
    const path = new URL(c.req.url).pathname.slice(prefix.length);
    if (!packagePath.test(path)) {
      const message = "This is no package of an agent. GET /releases/agents.json names them.";
      return respond(c, { refusal: new Refusal("unknown_path", message) });
    }
    if (packages === undefined) {
      const message =
        "This service does not say where agents are downloaded from. Whoever runs it sets HAWSER_AGENT_PACKAGES to the address of a package registry or of a mirror.";
      return respond(c, { refusal: new Refusal("unknown_path", message) });
    }
    return c.redirect(`${packages}/${path}`, 302);
  });
  return app;
}
