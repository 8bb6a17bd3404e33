// Finds a program that the host's owner may have installed.
import { statSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Program {
  path: string;
  /** Changes when the program is replaced. */
  stamp: string;
}

/** The first executable file of that name in the search path; undefined if there is none. */
export function findProgram(name: string, searchPath = ""): Program | undefined {
  for (const directory of searchPath.split(delimiter)) {
    if (directory === "") continue;
    const path = join(directory, name);
    const stamp = stampOf(path);
    if (stamp !== undefined && isRunnable(path)) return { path, stamp: `${path} ${stamp}` };
  }
  return undefined;
}

/** Identifies the present state of a file; undefined if there is no file. */
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
