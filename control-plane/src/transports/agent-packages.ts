// The route that hosts download agent packages from: it redirects to the address that the operator has
// chosen. So a host needs only one address, and always installs the same package, because the hash of
// each package is signed.
import { Refusal } from "@hawser/contract";
import { Hono } from "hono";
import { respond } from "./rest.ts";

/** The name of a package in npm's registries; nothing that could lead elsewhere. */
const packagePath = /^(?:@[\w.-]+\/)?[\w.-]+\/-\/[\w.-]+\.tgz$/;
const prefix = "/releases/packages/";

export function agentPackageRoute(packages: string | undefined): Hono {
  const app = new Hono();
  app.get(`${prefix}*`, (c) => {
    const path = new URL(c.req.url).pathname.slice(prefix.length);
    if (!packagePath.test(path)) {
      const message = "This is not a package of an agent. GET /releases/agents.json names them.";
      return respond(c, { refusal: new Refusal("unknown_path", message) });
    }
    if (packages === undefined) {
      const message =
        "This service does not say where agents are downloaded from. Its operator must set HAWSER_AGENT_PACKAGES to the address of a package registry or of a mirror.";
      return respond(c, { refusal: new Refusal("unknown_path", message) });
    }
    return c.redirect(`${packages}/${path}`, 302);
  });
  return app;
}
