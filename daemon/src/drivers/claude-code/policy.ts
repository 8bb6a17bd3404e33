// The policy's decision on a tool call, made before Claude Code's own rules apply. Those rules allow many
// commands without asking, and ask about files in the session's own directory.
import type { AgentPolicy } from "@hawser/contract";
import { ruleCovers } from "../command-rules.ts";
import { locatePath } from "../../policy/path-location.ts";
import type { Decision, HookInput } from "./sdk.ts";

/** Tools that write files, with the input that names the file. */
const writingTools: Record<string, string> = {
  Write: "file_path",
  Edit: "file_path",
  MultiEdit: "file_path",
  NotebookEdit: "notebook_path",
};

export function decide(
  { allowedCommands, outsideWorktree }: AgentPolicy,
  directory: string,
  { tool_name: tool, tool_input: input, permission_mode: mode }: HookInput,
  /** Paths of the prompt's attachments, which the agent may read. */
  attachments: readonly string[] = [],
): Decision {
  if (tool === "Bash") {
    const { command } = input;
    const isAllowed = typeof command === "string" && isCovered(command, allowedCommands);
    return isAllowed && mode !== "plan" ? "allow" : "ask";
  }
  if (tool === "Read" && attachments.some((file) => file === input["file_path"])) return "allow";
  const path = input[writingTools[tool] ?? ""];
  if (typeof path !== "string") return undefined;
  const place = locatePath(directory, path);
  if (place === "outside" && outsideWorktree === "refuse") return "deny";
  // Git runs files in its own directory, so changing them needs permission; so does any change in plan
  // mode.
  return place === "inside" && mode !== "plan" ? "allow" : "ask";
}

/** Whether rules cover every part of the command. False for commands with complex shell syntax. */
function isCovered(command: string, rules: readonly string[]): boolean {
  if (rules.includes(command)) return true;
  if (/[<>$`\\(){}]|(^|[^&])&(?!&)/.test(command)) return false;
  // An operator may be inside the quotes.
  if (/['"]/.test(command) && /[;&|\n]/.test(command)) return false;
  const parts = command.split(/;|&&|\|\||\||\n/).map((part) => part.trim());
  return parts.every((part) => part !== "" && rules.some((rule) => ruleCovers(rule, part)));
}
