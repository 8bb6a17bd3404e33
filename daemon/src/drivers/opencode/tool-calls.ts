// Translates a tool call of opencode into ours: its kind, title, output and plan.
import { relative } from "node:path";
import type { ToolContent, UpdateOf } from "@hawser/contract";
import type { ToolPart } from "./frames.ts";

type Kind = UpdateOf<"tool_call">["kind"];

const kinds: Record<string, Kind> = {
  bash: "execute",
  read: "read",
  list: "read",
  write: "edit",
  edit: "edit",
  multiedit: "edit",
  apply_patch: "edit",
  glob: "search",
  grep: "search",
  websearch: "search",
  webfetch: "fetch",
  task: "think",
  todowrite: "think",
};

export const kindOf = (tool: string): Kind => kinds[tool] ?? "other";

/** What a tool acts on. A model may add other fields, which the tool ignores: people must not see those. */
const subjects: Record<string, string> = {
  bash: "command",
  read: "filePath",
  write: "filePath",
  edit: "filePath",
  multiedit: "filePath",
  webfetch: "url",
  glob: "pattern",
  grep: "pattern",
  task: "description",
};

/** The field that has what the call acts on; undefined if there is none. */
export function subjectFieldOf({ tool, state: { input } }: ToolPart): string | undefined {
  const own = Object.hasOwn(subjects, tool) ? subjects[tool] : undefined;
  const names = ["command", "filePath", "url", "pattern", "path", "description", "name"];
  const fields = own === undefined ? names : [own];
  return fields.find((name) => typeof input[name] === "string" && input[name] !== "");
}

/** The command, file, address or pattern that the call names; null if it names none. */
export function subjectOf(part: ToolPart): string | null {
  const field = subjectFieldOf(part);
  return field === undefined ? null : (part.state.input[field] as string);
}

export function titleOf(part: ToolPart): string {
  const subject = subjectOf(part);
  if (subject === null) return part.state.title || part.tool;
  return part.tool === "bash" ? subject : `${part.tool} ${subject}`;
}

const longestPatch = 64 * 1024;

export function contentOf({ state }: ToolPart, directory: string): ToolContent[] {
  const text = state.status === "error" ? state.error : state.output;
  const content: ToolContent[] = text ? [{ type: "content", content: { type: "text", text } }] : [];
  const change = state.metadata?.["filediff"] as
    | { file?: string; patch?: string; additions?: number; deletions?: number }
    | undefined;
  if (change?.file && change.patch) {
    content.push({
      type: "patch",
      path: relative(directory, change.file),
      patch: change.patch.slice(0, longestPatch),
      added: change.additions ?? 0,
      removed: change.deletions ?? 0,
    });
  }
  return content;
}

/** How a command ended, if it ended by itself. */
export function exitCodeOf({ tool, state }: ToolPart): { exitCode: number } | undefined {
  const code = tool === "bash" ? state.metadata?.["exit"] : undefined;
  return Number.isInteger(code) ? { exitCode: code as number } : undefined;
}

const statuses = ["pending", "in_progress", "completed"] as const;
const priorities = ["high", "medium", "low"] as const;

/** The plan that a call of todowrite sets, without cancelled entries; undefined for other tools. */
export function planOf({ tool, state }: ToolPart): UpdateOf<"plan">["entries"] | undefined {
  const todos = state.input["todos"];
  if (tool !== "todowrite" || !Array.isArray(todos)) return undefined;
  return (todos as { content: string; status: string; priority: string }[]).flatMap((todo) => {
    const status = statuses.find((one) => one === todo.status);
    const priority = priorities.find((one) => one === todo.priority) ?? "medium";
    return status ? [{ content: todo.content, status, priority }] : [];
  });
}
