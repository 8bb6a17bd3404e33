// The packages of the shipped agents. `npm run agents:check` compares the list with npm's registry.
// `npm run agents:fetch` downloads this platform's packages for tests into .tools/agents, once; npm run
// setup does that too.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { promisify } from "node:util";
import { shippedAgents } from "@hawser/deploy/publish-agents.ts";
import type { AgentPackage } from "@hawser/host-protocol";
import { packageCache } from "@hawser/testkit/package-server.ts";

/** Package and version from a tarball's path, such as @openai/codex@0.166.0-linux-x64. */
function specifierOf({ path }: AgentPackage): string {
  const [name = "", file = ""] = path.split("/-/");
  const bare = name.slice(name.indexOf("/") + 1);
  return `${name}@${file.slice(bare.length + 1, -".tgz".length)}`;
}

async function npm(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)("npm", args, { timeout: 600_000 });
  return stdout;
}

async function check(): Promise<void> {
  for (const { kind, platform, packages } of shippedAgents.agents) {
    for (const each of packages) {
      const specifier = specifierOf(each);
      const integrity = (await npm("view", specifier, "dist.integrity")).trim();
      const fits = integrity === `sha512-${each.sha512}`;
      console.log(`${fits ? "as listed" : "DIFFERENT"}  ${kind} ${platform}  ${specifier}`);
      if (!fits) process.exitCode = 1;
    }
  }
}

async function fetchPackages(): Promise<void> {
  const platform = `${process.platform}-${process.arch}`;
  const agents = shippedAgents.agents.filter((agent) => agent.platform === platform);
  // All at once: npm takes a second to start, and then waits for the network.
  const fetched = await Promise.all(
    agents.map(({ packages }) => Promise.all(packages.map(fetchPackage))),
  );
  agents.forEach(({ kind, version }, at) => {
    console.log(`${kind} ${version}: ${fetched[at]!.includes(true) ? "fetched" : "found"}`);
  });
}

/** Returns false if the package is there already. */
async function fetchPackage(each: AgentPackage): Promise<boolean> {
  const target = join(packageCache, each.path);
  if (existsSync(target)) return false;
  const folder = dirname(target);
  mkdirSync(folder, { recursive: true });
  const [packed] = JSON.parse(
    await npm(
      "pack",
      specifierOf(each),
      "--json",
      "--ignore-scripts",
      "--pack-destination",
      folder,
    ),
  ) as { filename: string }[];
  const file = join(folder, packed!.filename.replace(/^@/, "").replace("/", "-"));
  const hash = createHash("sha512");
  await pipeline(createReadStream(file), hash);
  if (hash.digest("base64") !== each.sha512) {
    rmSync(file);
    throw new Error(`${specifierOf(each)} is not what deploy/agents.json lists.`);
  }
  renameSync(file, target);
  return true;
}

if (process.argv[2] === "check") await check();
else await fetchPackages();
