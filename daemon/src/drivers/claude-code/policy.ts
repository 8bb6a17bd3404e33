// What an agent must ask about, decided before Claude's own rules: those let many commands pass unasked,
// and ask about files in the session's own directory.
import type { AgentPolicy } from "@hawser/contract";
import { locatePath } from "../path-location.ts";
import type { Decision, HookInput } from "./sdk.ts";

const writing: Record<string, string> = {
  Write: "file_path",
  Edit: "file_path",
  MultiEdit: "file_path",
  NotebookEdit: "notebook_path",
};

export function decide(
  { allowedCommands, outsideWorktree }: AgentPolicy,
  directory: string,
  { tool_name: tool, tool_input: input, permission_mode: mode }: HookInput,
  /** Files that the prompt came with, wherever they lie. */
  given: readonly string[] = [],
): Decision {
  if (tool === "Bash") {
    const { command } = input;
    const isAllowed = typeof command === "string" && isCovered(command, allowedCommands);
    return isAllowed && mode !== "plan" ? "allow" : "ask";
  }
  if (tool === "Read" && given.some((file) => file === input["file_path"])) return "allow";
  const path = input[writing[tool] ?? ""];
  if (typeof path !== "string") return undefined;
  const place = locatePath(directory, path);
  if (place === "outside" && outsideWorktree === "refuse") return "deny";
  // Git runs what lies in its own directory. While planning, nothing is to be written at all.
  return place === "inside" && mode !== "plan" ? "allow" : "ask";
}

/** Whether each part of the command is covered; one that is not plainly read is not. */
function isCovered(command: string, rules: readonly string[]): boolean {
  if (rules.includes(command)) return true;
  if (/[<>$`\\(){}]|(^|[^&])&(?!&)/.test(command)) return false;
  // Between quotes an operator would be none.
  if (/['"]/.test(command) && /[;&|\n]/.test(command)) return false;
  const parts = command.split(/;|&&|\|\||\||\n/).map((part) => part.trim());
  return parts.every((part) => part !== "" && rules.some((rule) => covers(rule, part)));
}

/** A rule that ends with a star stands for any arguments. */
function covers(rule: string, command: string): boolean {
  if (!rule.endsWith(" *")) return command === rule;
  return command === rule.slice(0, -2) || command.startsWith(rule.slice(0, -1));
}
