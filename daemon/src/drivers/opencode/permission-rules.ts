// What an agent must ask about, as rules of opencode: it asks about everything that matters. What the
// policy allows or refuses is answered by the driver, for the session and its sub-agents alike, because
// opencode's own rules would let an allowed command write anywhere with `>`, and sub-agents inherit only
// some of them.
import type { AgentPolicy } from "@hawser/contract";
import type { PermissionRequest } from "./frames.ts";

/** For the whole server, in its configuration. */
export const serverRules = {
  edit: "allow",
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
    { permission: "edit", pattern: "*", action: "allow" },
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
  { permission, patterns, metadata }: PermissionRequest,
): "allow" | "refuse" | "ask" {
  if (permission === "external_directory" && outsideWorktree === "refuse") return "refuse";
  const whole = metadata["command"];
  if (permission !== "bash" || typeof whole !== "string") return "ask";
  if (allowedCommands.includes(whole)) return "allow";
  // The patterns are the commands that opencode found in the whole.
  if (doesMore.test(whole) || movesAway.test(whole) || patterns.length === 0) return "ask";
  const isAllowed = (command: string) =>
    allowedCommands.some((allowed) => {
      if (!allowed.endsWith(" *")) return command === allowed;
      return command === allowed.slice(0, -2) || command.startsWith(allowed.slice(0, -1));
    });
  return patterns.every(isAllowed) ? "allow" : "ask";
}
