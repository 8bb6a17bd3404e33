// The agents' real programs for tests: unpacked once from the packages that `npm run setup` fetches, and
// placed on a host as if its daemon had installed them.
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { AgentKind } from "@hawser/contract";
import { writeCurrent } from "@hawser/daemon/installs/current.ts";
import { unpack } from "@hawser/daemon/installs/unpack.ts";
import { shippedAgents } from "@hawser/deploy/publish-agents.ts";
import type { PublishedAgent } from "@hawser/host-protocol";
import { packageCache } from "./package-server.ts";

const unpackedPrograms = fileURLToPath(new URL("../../.tools/unpacked/", import.meta.url));

/** The path of an agent's program, in the version that is shipped. */
export async function agentProgram(kind: AgentKind): Promise<string> {
  const agent = shippedHere(kind);
  return join(await unpacked(agent), agent.program);
}

/** Whether the agent is shipped for this platform and its packages are fetched. */
export function hasAgentProgram(kind: AgentKind): boolean {
  const agent = findShipped(kind);
  return agent?.packages.every(({ path }) => existsSync(join(packageCache, path))) ?? false;
}

/** Installs an agent in a host's state directory. Call it while the daemon does not run. */
export async function giveProgram(stateDirectory: string, kind: AgentKind): Promise<void> {
  const agent = shippedHere(kind);
  const source = await unpacked(agent);
  const agents = join(stateDirectory, "agents");
  linkAll(source, join(agents, kind, agent.version));
  writeCurrent(agents, kind, {
    version: agent.version,
    directory: agent.version,
    program: agent.program,
    programSize: statSync(join(source, agent.program)).size,
    packages: agent.packages.map(({ sha512 }) => sha512),
    previous: null,
  });
}

/** Links every file instead of copying it: the programs have hundreds of megabytes. */
function linkAll(source: string, target: string): void {
  mkdirSync(target, { recursive: true });
  for (const entry of readdirSync(source, { withFileTypes: true })) {
    const [from, to] = [join(source, entry.name), join(target, entry.name)];
    if (entry.isDirectory()) linkAll(from, to);
    else link(from, to);
  }
}

function link(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    symlinkSync(from, to);
  }
}

const platform = `${process.platform}-${process.arch}`;

function findShipped(kind: AgentKind): PublishedAgent | undefined {
  return shippedAgents.agents.find((agent) => agent.kind === kind && agent.platform === platform);
}

function shippedHere(kind: AgentKind): PublishedAgent {
  const found = findShipped(kind);
  if (!found) throw new Error(`deploy/agents.json lists no ${kind} for ${platform}.`);
  return found;
}

/** The directory of an unpacked agent. Processes may unpack it at the same time; one result is kept. */
async function unpacked({ kind, version, packages }: PublishedAgent): Promise<string> {
  const hash = Buffer.from(packages[0]!.sha512, "base64").toString("hex").slice(0, 12);
  const place = join(unpackedPrograms, `${kind}-${version}-${hash}`);
  if (existsSync(place)) return place;
  mkdirSync(unpackedPrograms, { recursive: true });
  const made = mkdtempSync(join(unpackedPrograms, ".making-"));
  chmodSync(made, 0o755);
  try {
    for (const { path, into } of packages) {
      const tarball = join(packageCache, path);
      if (!existsSync(tarball)) {
        throw new Error(`${kind} ${version} is not fetched. Run: npm run agents:fetch`);
      }
      await unpack({
        tarball,
        into: join(made, into),
        limitBytes: Infinity,
        onBytes: () => {},
        signal: AbortSignal.timeout(300_000),
      });
    }
    renameSync(made, place);
  } catch (error) {
    rmSync(made, { recursive: true, force: true });
    // Another process has unpacked the same files meanwhile.
    if (!existsSync(place)) throw error;
  }
  return place;
}
