// The Node that Hawser is tested with: for the launcher on an older one, and for hosts.
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { platformHere } from "./engine-list.ts";
import { listedEngine, obtainEngine, packedNode, type ObtainOptions } from "./obtain-engine.ts";

export interface FoundNode {
  program: string;
  /** The program gzipped: `node-<version>-<platform>.gz`, as a release of the daemon names it. */
  packed: string;
  version: string;
}

/** Throws CommandFailed. */
export async function findNode(
  options: ObtainOptions & { mayDownload: boolean },
): Promise<FoundNode | undefined>;
export async function findNode(options: Omit<ObtainOptions, "mayDownload">): Promise<FoundNode>;
export async function findNode(options: ObtainOptions): Promise<FoundNode | undefined> {
  const engine = listedEngine("node", options);
  if (!engine) {
    if (options.mayDownload === false) return undefined;
    throw new CommandFailed(
      `There is no package with Node for ${platformHere()}, and this is Node ${process.versions.node}. Install Node 24.12 or later, or name its program in HAWSER_NODE.`,
      2,
    );
  }
  const found = await obtainEngine(engine, options);
  if (!found) return undefined;
  return {
    program: join(found.directory, "node"),
    packed: join(found.directory, packedNode(engine)),
    version: engine.version,
  };
}
