// Where a path lies, seen from a session's directory: what counts is where it really leads.
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

/** `git` is git's own directory inside: git runs what lies in it. */
export type PathPlace = "inside" | "git" | "outside";

export function placeOf(directory: string, path: string): PathPlace {
  const steps = relative(realOf(directory), realOf(resolve(directory, path))).split(sep);
  if (steps[0] === "..") return "outside";
  return steps.some((step) => step.toLowerCase() === ".git") ? "git" : "inside";
}

/** Links followed as far as it exists, and those that lead nowhere too. */
export function realOf(path: string, steps = 0): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || steps > 40) return sep;
    const target = linkAt(path);
    if (target === undefined) return join(realOf(parent, steps + 1), basename(path));
    return realOf(resolve(parent, target), steps + 1);
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}
