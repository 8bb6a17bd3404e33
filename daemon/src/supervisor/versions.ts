// The versions of the daemon in the state directory, and which of them to start.
//
//   daemon/<version>/hawserd.mjs    the program
//   daemon/<version>/node           a link to the Node that runs it, node/<version>/node
//   daemon/current                  a link to one of the versions, replaced by a rename
import { existsSync, readdirSync, readlinkSync, rmSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Version, isNewer } from "@hawser/host-protocol";
import { replaceBy } from "../state/replace-file.ts";

/** How a version of the daemon is started. */
export interface Program {
  version: string;
  node: string;
  /** Arguments before the daemon's own. */
  script: readonly string[];
}

const folder = (directory: string) => join(directory, "daemon");
const pointer = (directory: string) => join(folder(directory), "current");
const nextPointer = (directory: string) => `${pointer(directory)}.next`;

export function versionPath(directory: string, version: string): string {
  return join(folder(directory), version);
}

export function nodePath(directory: string, nodeVersion: string): string {
  return join(directory, "node", nodeVersion);
}

/** A version in the state directory. */
export function installedProgram(directory: string, version: string): Program {
  const place = versionPath(directory, version);
  return { version, node: join(place, "node"), script: [join(place, "hawserd.mjs")] };
}

/** The version that the pointer names, or the running program if that is newer. */
export function chooseProgram(directory: string, own: Program): Program {
  const version = currentVersion(directory);
  if (!version || isNewer(own.version, version)) return own;
  const current = installedProgram(directory, version);
  return [current.node, ...current.script].every((path) => existsSync(path)) ? current : own;
}

/** undefined if the pointer is missing or damaged. */
export function currentVersion(directory: string): string | undefined {
  try {
    return Version.safeParse(readlinkSync(pointer(directory))).data;
  } catch {
    return undefined;
  }
}

/** If it is interrupted, the pointer names either the old or the new version. */
export function switchTo(directory: string, version: string): void {
  const next = nextPointer(directory);
  rmSync(next, { force: true });
  symlinkSync(version, next);
  replaceBy(next, pointer(directory));
}

/** Removes all other versions, and the Nodes that only they used. */
export function keepVersions(directory: string, versions: readonly string[]): void {
  removeOthers(folder(directory), versions);
  const nodes = versions.flatMap((version) => {
    try {
      return basename(dirname(readlinkSync(installedProgram(directory, version).node)));
    } catch {
      return [];
    }
  });
  removeOthers(join(directory, "node"), nodes);
}

/** Removes what an interrupted update has left. */
export function removeUnfinished(directory: string): void {
  rmSync(nextPointer(directory), { force: true });
  for (const place of [folder(directory), join(directory, "node")]) {
    for (const name of namesIn(place)) {
      if (name.endsWith(".part")) rmSync(join(place, name), { recursive: true, force: true });
    }
  }
}

/** Removes only names that look like a version: the directory may contain things that are not ours. */
function removeOthers(place: string, kept: readonly string[]): void {
  for (const name of namesIn(place)) {
    if (Version.safeParse(name).success && !kept.includes(name)) {
      rmSync(join(place, name), { recursive: true, force: true });
    }
  }
}

function namesIn(place: string): string[] {
  return existsSync(place) ? readdirSync(place) : [];
}
