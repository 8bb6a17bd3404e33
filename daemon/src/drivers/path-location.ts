// Where a path is relative to a session's directory, with symbolic links resolved.
import { relative, resolve, sep } from "node:path";
import { realOf } from "../real-path.ts";

/** `git` is inside too, but in a .git directory, whose hooks and settings git would run. */
export function locatePath(directory: string, path: string): "inside" | "git" | "outside" {
  const steps = relative(realOf(directory), realOf(resolve(directory, path))).split(sep);
  if (steps[0] === "..") return "outside";
  return steps.some((step) => step.toLowerCase() === ".git") ? "git" : "inside";
}

/**
 * Prefix of a command in requests and rules that names the directory it runs in. Empty for the session's
 * own directory.
 */
export function prefixFor(directory: string, path: string): string {
  const real = realOf(resolve(directory, path));
  const isOutside = locatePath(directory, path) === "outside";
  const name = isOutside ? real : relative(realOf(directory), real);
  return name === "" ? "" : `in ${JSON.stringify(name)}: `;
}
