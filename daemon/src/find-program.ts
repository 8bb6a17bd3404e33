// Where a program is that the host's owner may or may not have installed.
import { statSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Program {
  path: string;
  /** Another one when the program was replaced. */
  stamp: string;
}

/** The first of that name in the search path that can be run. */
export function findProgram(name: string, searchPath = ""): Program | undefined {
  for (const directory of searchPath.split(delimiter)) {
    if (directory === "") continue;
    const path = join(directory, name);
    const stamp = stampOf(path);
    if (stamp !== undefined && isRunnable(path)) return { path, stamp: `${path} ${stamp}` };
  }
  return undefined;
}

/** Tells one state of a file from another; nothing when there is none. */
export function stampOf(path: string): string | undefined {
  try {
    const { mtimeMs, ctimeMs, size, ino } = statSync(path);
    return `${mtimeMs} ${ctimeMs} ${size} ${ino}`;
  } catch {
    return undefined;
  }
}

function isRunnable(path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && found.isFile() && (found.mode & 0o111) !== 0;
}
