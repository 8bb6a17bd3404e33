// What an agent must ask about, as rules of opencode: it asks about everything that matters. What the
// policy allows or refuses is answered by the driver, for the session and its sub-agents alike, because
// opencode's own rules would let an allowed command write anywhere with `>`, know nothing of links, and
// sub-agents inherit only some of them.
import { isAbsolute, relative, sep } from "node:path";
import type { AgentPolicy } from "@hawser/contract";
import { locatePath } from "../path-location.ts";
import type { PermissionRequest } from "./frames.ts";

/** For the whole server, in its configuration. */
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

/** For one session: the same, above whatever the host's own configuration says. */
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

/** With these a command does more than its words say. */
const doesMore = /[`$<>(){}\\\n]/;

/** opencode does not name these among the commands it found, and what comes after them runs elsewhere. */
const movesAway = /(^|[\s;&|])(cd|chdir|pushd|popd)($|[\s;&|])/;

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
  // The patterns are the commands that opencode found in it.
  if (doesMore.test(command) || movesAway.test(command) || patterns.length === 0) return "ask";
  const isAllowed = (part: string) =>
    allowedCommands.some((allowed) => {
      if (!allowed.endsWith(" *")) return part === allowed;
      return part === allowed.slice(0, -2) || part.startsWith(allowed.slice(0, -1));
    });
  return patterns.every(isAllowed) ? "allow" : "ask";
}

/** The files that a change is about, whole paths; none when that cannot be told. */
export function changedBy({ metadata }: PermissionRequest): string[] {
  const { filepath, files } = metadata;
  if (!Array.isArray(files)) return typeof filepath === "string" ? whole([filepath]) : [];
  const named = files as Record<string, unknown>[];
  return whole(
    named.flatMap(({ filePath, movePath }) => (movePath ? [filePath, movePath] : [filePath])),
  );
}

const whole = (paths: unknown[]): string[] =>
  paths.every((path) => typeof path === "string" && isAbsolute(path)) ? (paths as string[]) : [];

/** opencode goes by the words of a path, so it has asked already about one that says it leads outside. */
function changeIn(directory: string, path: string): "inside" | "git" | "outside" {
  const says = relative(directory, path);
  return says === ".." || says.startsWith(`..${sep}`) ? "inside" : locatePath(directory, path);
}
