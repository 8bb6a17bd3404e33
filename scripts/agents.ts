// The packages of the shipped agents. `npm run agents:check` compares the list with npm's registry.
// `npm run agents:fetch` downloads this platform's packages for tests into .tools/agents, once; npm run
// setup does that too.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { shippedAgents } from "@hawser/deploy/publish-agents.ts";
import type { AgentPackage } from "@hawser/host-protocol";
import { packageCache } from "@hawser/testkit/package-server.ts";

/** Package and version from a tarball's path, such as @openai/codex@0.166.0-linux-x64. */
function specifierOf({ path }: AgentPackage): string {
  const [name = "", file = ""] = path.split("/-/");
  const bare = name.slice(name.indexOf("/") + 1);
  return `${name}@${file.slice(bare.length + 1, -".tgz".length)}`;
}

const npm = (...args: string[]) =>
  execFileSync("npm", args, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 600_000,
  });

function check(): void {
  for (const { kind, platform, packages } of shippedAgents.agents) {
    for (const each of packages) {
      const specifier = specifierOf(each);
      const integrity = npm("view", specifier, "dist.integrity").trim();
      const fits = integrity === `sha512-${each.sha512}`;
      console.log(`${fits ? "as listed" : "DIFFERENT"}  ${kind} ${platform}  ${specifier}`);
      if (!fits) process.exitCode = 1;
    }
  }
}

async function fetchPackages(): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  for (const { kind, version, packages } of shippedAgents.agents.filter(
    (agent) => agent.platform === platform,
  )) {
    let done = "found";
    for (const each of packages) {
      const target = join(packageCache, each.path);
      if (existsSync(target)) continue;
      const folder = dirname(target);
      mkdirSync(folder, { recursive: true });
      const [packed] = JSON.parse(
        npm("pack", specifierOf(each), "--json", "--ignore-scripts", "--pack-destination", folder),
      ) as { filename: string }[];
      const file = join(folder, packed!.filename.replace(/^@/, "").replace("/", "-"));
      const hash = createHash("sha512");
      await pipeline(createReadStream(file), hash);
      if (hash.digest("base64") !== each.sha512) {
        rmSync(file);
        throw new Error(`${specifierOf(each)} is not what deploy/agents.json lists.`);
      }
      renameSync(file, target);
      done = "fetched";
    }
    console.log(`${kind} ${version}: ${done}`);
  }
}

if (process.argv[2] === "check") check();
else await fetchPackages();
