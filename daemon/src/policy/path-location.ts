// Where a path is relative to a session's directory, with symbolic links resolved.
import { relative, resolve, sep } from "node:path";
import { realOf } from "../real-path.ts";

/** Files and directories that agents of any kind obey, or run programs of. */
const agentConfig = new Set([
  ".agents",
  ".claude",
  ".codex",
  ".mcp.json",
  ".opencode",
  "opencode.json",
  "opencode.jsonc",
]);

/**
 * `git` and `config` are inside too, but in a .git directory, whose hooks and settings git would run, or in
 * the configuration of an agent.
 */
export function locatePath(
  directory: string,
  path: string,
): "inside" | "git" | "config" | "outside" {
  const steps = relative(realOf(directory), realOf(resolve(directory, path))).split(sep);
  if (steps[0] === "..") return "outside";
  if (steps.some((step) => step.toLowerCase() === ".git")) return "git";
  return steps.some((step) => agentConfig.has(step.toLowerCase())) ? "config" : "inside";
}

/** Whether a path is a directory or lies in it, with links resolved. */
export function isBelow(directory: string, path: string): boolean {
  return relative(realOf(directory), realOf(path)).split(sep)[0] !== "..";
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
