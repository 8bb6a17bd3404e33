// opencode's permission rules, and the policy's decision on a request. The rules make opencode ask about
// every change and command; the driver then answers the requests that the policy allows or refuses.
// opencode's own rules cannot express the policy: they let an allowed command write anywhere with `>`, they
// ignore symbolic links, and sub-agents inherit only some of them.
import { isAbsolute, relative, sep } from "node:path";
import type { AgentPolicy } from "@hawser/contract";
import { ruleCovers } from "../command-rules.ts";
import { locatePath } from "../../policy/path-location.ts";
import type { PermissionRequest } from "./frames.ts";

/** Rules of the whole server, as in its configuration file. */
export const serverRules = {
  edit: "ask",
  bash: { "*": "ask" },
  webfetch: "ask",
  external_directory: { "*": "ask" },
  doom_loop: "ask",
} as const;

interface Rule {
  permission: string;
  pattern: string;
  action: "allow" | "ask" | "deny";
}

/** Rules of one session. They override the configuration of the host's user. */
export function rulesOf({ outsideWorktree }: AgentPolicy): Rule[] {
  const outside = outsideWorktree === "ask" ? "ask" : "deny";
  return [
    { permission: "edit", pattern: "*", action: "ask" },
    { permission: "external_directory", pattern: "*", action: outside },
    { permission: "webfetch", pattern: "*", action: "ask" },
    { permission: "doom_loop", pattern: "*", action: "ask" },
    { permission: "bash", pattern: "*", action: "ask" },
  ];
}

/** Shell syntax with which a command does more than its words show. */
const shellSyntax = /[`$<>(){}\\\n]/;

/** Commands that change the directory of what follows. opencode leaves them out of its patterns. */
const changesDirectory = /(^|[\s;&|])(cd|chdir|pushd|popd)($|[\s;&|])/;

export function decide(
  { allowedCommands, outsideWorktree }: AgentPolicy,
  request: PermissionRequest,
  directory: string,
): "allow" | "refuse" | "ask" {
  const { permission, patterns, metadata } = request;
  const ifOutside = outsideWorktree === "refuse" ? "refuse" : "ask";
  if (permission === "external_directory") return ifOutside;
  if (permission === "edit") {
    const places = changedBy(request).map((path) => changeIn(directory, path));
    if (places.includes("outside")) return ifOutside;
    return places.length > 0 && places.every((place) => place === "inside") ? "allow" : "ask";
  }
  const command = metadata["command"];
  if (permission !== "bash" || typeof command !== "string") return "ask";
  if (allowedCommands.includes(command)) return "allow";
  // The patterns are the single commands that opencode found in the command line.
  if (shellSyntax.test(command) || changesDirectory.test(command) || patterns.length === 0)
    return "ask";
  const isAllowed = (part: string) => allowedCommands.some((rule) => ruleCovers(rule, part));
  return patterns.every(isAllowed) ? "allow" : "ask";
}

/** Absolute paths of the files that the request would change. Empty if any of them is unknown. */
export function changedBy({ metadata }: PermissionRequest): string[] {
  const { filepath, files } = metadata;
  if (!Array.isArray(files)) return typeof filepath === "string" ? onlyAbsolute([filepath]) : [];
  const named = files as Record<string, unknown>[];
  return onlyAbsolute(
    named.flatMap(({ filePath, movePath }) => (movePath ? [filePath, movePath] : [filePath])),
  );
}

const onlyAbsolute = (paths: unknown[]): string[] =>
  paths.every((path) => typeof path === "string" && isAbsolute(path)) ? (paths as string[]) : [];

/**
 * opencode compares paths as text. It has already asked about a path that is outside as text, so only a
 * path that leads outside through a link counts as outside here.
 */
function changeIn(directory: string, path: string): ReturnType<typeof locatePath> {
  const fromDirectory = relative(directory, path);
  const isOutsideAsText = fromDirectory === ".." || fromDirectory.startsWith(`..${sep}`);
  return isOutsideAsText ? "inside" : locatePath(directory, path);
}
