// Where a path lies, seen from a session's directory: what counts is where it really leads.
import { readlinkSync, realpathSync } from "node:fs";
import { basename, dirname, join, relative, resolve, sep } from "node:path";

/** `git` is git's own directory inside: git runs what lies in it. */
export function placeOf(directory: string, path: string): "inside" | "git" | "outside" {
  const steps = relative(realOf(directory), realOf(resolve(directory, path))).split(sep);
  if (steps[0] === "..") return "outside";
  return steps.some((step) => step.toLowerCase() === ".git") ? "git" : "inside";
}

/**
 * How a person and a rule are shown where a command runs: what it does depends on that. Nothing where it
 * is the session's directory itself.
 */
export function prefixFor(directory: string, path: string): string {
  const real = realOf(resolve(directory, path));
  const isOutside = placeOf(directory, path) === "outside";
  const name = isOutside ? real : relative(realOf(directory), real);
  return name === "" ? "" : `in ${JSON.stringify(name)}: `;
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
