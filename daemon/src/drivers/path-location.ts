// Where a path lies, seen from a session's directory: what counts is where it really leads.
import { relative, resolve, sep } from "node:path";
import { realOf } from "../real-path.ts";

/** `git` is git's own directory inside: git runs what lies in it. */
export function locatePath(directory: string, path: string): "inside" | "git" | "outside" {
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
  const isOutside = locatePath(directory, path) === "outside";
  const name = isOutside ? real : relative(realOf(directory), real);
  return name === "" ? "" : `in ${JSON.stringify(name)}: `;
}
