// `hawserd place`: places a release that is on this machine in the state directory, in the installer's layout,
// so that a program that carries a release can set a host up without a download. Can be repeated at every
// start, and after a kill at any moment.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { isNewer, type DaemonManifest, type PublishedFile } from "@hawser/host-protocol";
import { describe } from "../log.ts";
import { trustedKeys } from "../release.ts";
import { placeProgram } from "../service/program.ts";
import {
  currentVersion,
  installedProgram,
  keepVersions,
  switchTo,
} from "../supervisor/versions.ts";
import { placeVersion, publishedForThis } from "../updates/place-version.ts";
import { readUpdates } from "../updates/record.ts";
import { copyPublished, readReleaseDirectory } from "../updates/release-directory.ts";
import { CommandFailed, UsageError, type CommandLine } from "./command.ts";
import { print } from "./print.ts";

const nodePatienceMs = 30_000;

export const place: CommandLine = {
  usage: "place --release <directory> [--node <file>]",
  summary:
    "places a release of this machine, with its Node, in the state directory; --node names the packed Node if it is elsewhere",
  options: { release: { type: "string" }, node: { type: "string" } },
  async run({ state, options: { release, node } }) {
    if (!release) throw new UsageError("place needs --release.");
    const { directory } = state;
    const from = resolve(String(release));
    const manifest = read(from);
    const { version } = manifest;
    const former = currentVersion(directory);
    refuseOlder(version, [former, readUpdates(directory).highest]);
    try {
      const published = publishedForThis(manifest);
      const copy = (file: PublishedFile, target: string) => {
        const source =
          node && file.file === published.node.file ? resolve(String(node)) : join(from, file.file);
        return copyPublished(requireFile(source), file, target);
      };
      await placeVersion({ directory, copy, step: () => {} }, version, published);
    } catch (error) {
      if (error instanceof CommandFailed) throw error;
      throw new CommandFailed(
        `hawserd ${version} was not placed in ${directory}: ${describe(error)} What was there before is unchanged.`,
        { cause: error },
      );
    }
    requireRunning(installedProgram(directory, version).node);
    placeProgram(state);
    if (former === version) return print(`hawserd ${version} is in ${directory}.`);
    switchTo(directory, version);
    keepVersions(directory, former === undefined ? [version] : [version, former]);
    print(`Placed hawserd ${version} in ${directory}.`);
  },
};

function read(release: string): DaemonManifest {
  if (trustedKeys.length === 0) {
    throw new CommandFailed(
      "This hawserd runs from the sources and trusts no publisher. Run the hawserd of the release: node hawserd-<version>.mjs place …",
    );
  }
  try {
    return readReleaseDirectory(release, trustedKeys);
  } catch (cause) {
    throw new CommandFailed(
      `The release in ${release} cannot be used: ${describe(cause)} Name a directory that this hawserd came with.`,
      { cause },
    );
  }
}

/** As the installer does: an older daemon could not read the journal of a newer one. */
function refuseOlder(version: string, present: readonly (string | undefined)[]): void {
  const newer = present.find((each) => each !== undefined && isNewer(each, version));
  if (newer === undefined) return;
  throw new CommandFailed(
    `Version ${newer} is installed, and ${version} is older. Use a release of ${newer} or later. To go back, uninstall first: hawserd uninstall`,
  );
}

function requireFile(path: string): string {
  if (existsSync(path)) return path;
  throw new CommandFailed(`${path} is missing. Put it there, or name another place with --node.`);
}

function requireRunning(node: string): void {
  const { status, error, stderr } = spawnSync(node, ["--version"], {
    encoding: "utf8",
    timeout: nodePatienceMs,
  });
  if (status === 0) return;
  throw new CommandFailed(
    `${node} does not run on this system; it needs glibc 2.28 or later. ${error?.message ?? stderr.trim()}`,
  );
}
