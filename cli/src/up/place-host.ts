// Places the daemon of the package in the state directory of this machine's host.
import { existsSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { isNewer } from "@hawser/host-protocol";
import { CommandFailed } from "../command-failed.ts";
import { partEnvironment } from "./environment.ts";
import { hostStateOf } from "./host.ts";
import { keep } from "./keeper.ts";

/** The version in place, if it is not older than that of the release; undefined if a daemon is to be placed. */
export function placedVersion(dataDirectory: string, releases: string): string | undefined {
  const home = hostStateOf(dataDirectory);
  const pointer = join(home, "daemon/current");
  if (!existsSync(join(pointer, "node")) || !existsSync(join(home, "bin/hawserd")))
    return undefined;
  const present = readlinkSync(pointer);
  return isNewer(releaseVersion(releases), present) ? undefined : present;
}

/** Throws CommandFailed. Can be repeated after a kill at any moment. */
export async function placeHost(
  dataDirectory: string,
  releases: string,
  packedNode: string,
): Promise<string> {
  const version = releaseVersion(releases);
  const { code, stdout, stderr } = await keep({
    program: process.execPath,
    args: [
      join(releases, `hawserd-${version}.mjs`),
      "place",
      "--state",
      hostStateOf(dataDirectory),
      "--release",
      releases,
      "--node",
      packedNode,
    ],
    environment: partEnvironment(),
    directory: dataDirectory,
    output: "pipe",
  }).ended;
  if (code === 0) return version;
  throw new CommandFailed(
    `The daemon of this machine was not placed: ${stderr.trim() || stdout.trim()} To start without a host: hawser up --no-host`,
  );
}

function releaseVersion(releases: string): string {
  const file = join(releases, "daemon.json");
  if (!existsSync(file)) {
    throw new CommandFailed(
      `${file} is missing, so this package cannot make this machine a host. Install the package again, or start with --no-host.`,
    );
  }
  return (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version;
}
