// Where a path is relative to a session's directory, with symbolic links resolved.
import { isAbsolute, relative, resolve, sep } from "node:path";
import { realOf } from "../real-path.ts";

/** Files and directories that agents of any kind obey, or run programs of. */
export const agentConfig: ReadonlySet<string> = new Set([
  ".agents",
  ".claude",
  ".codex",
  ".mcp.json",
  ".opencode",
  "opencode.json",
  "opencode.jsonc",
]);

/** From the narrowest to the widest. */
const locations = ["inside", "config", "git", "outside"] as const;
export type Location = (typeof locations)[number];

/** An absolute path. Keeps `..`, because it means another place after a link. */
export function absolutePath(directory: string, path: string): string {
  return isAbsolute(path) ? path : `${directory}/${path}`;
}

/**
 * The places that an absolute path can mean, with links resolved. Some programs remove `..` before they
 * open a path. For others the kernel follows the links before a `..` first.
 */
export function placesOf(path: string): string[] {
  return [...new Set([realOf(path), realOf(resolve(path))])];
}

/**
 * `git` and `config` are inside too, but in a .git directory, whose hooks and settings git would run, or in
 * the configuration of an agent. A path that can mean two places is in the more dangerous one.
 */
export function locatePath(directory: string, path: string): Location {
  const real = realOf(directory);
  const found = placesOf(absolutePath(directory, path)).map((place) => locate(real, place));
  return locations.findLast((location) => found.includes(location))!;
}

function locate(directory: string, place: string): Location {
  const steps = relative(directory, place).split(sep);
  if (steps[0] === "..") return "outside";
  if (steps.some((step) => step.toLowerCase() === ".git")) return "git";
  return steps.some((step) => agentConfig.has(step.toLowerCase())) ? "config" : "inside";
}

/** Whether a path is a directory or lies in it, with links resolved. */
export function isBelow(directory: string, path: string): boolean {
  return contains(realOf(directory), realOf(path));
}

/** Whether a path is a directory or lies in it. Both are resolved. */
export function contains(directory: string, path: string): boolean {
  return path === directory || path.startsWith(directory === sep ? sep : directory + sep);
}

/**
 * Prefix of a command in requests and rules that names the directory it runs in. Empty for the session's
 * own directory.
 */
export function prefixFor(directory: string, path: string): string {
  const real = realOf(absolutePath(directory, path));
  const isOutside = locatePath(directory, path) === "outside";
  const name = isOutside ? real : relative(realOf(directory), real);
  return name === "" ? "" : `in ${JSON.stringify(name)}: `;
}
