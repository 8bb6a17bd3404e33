// Translates a tool call of Claude Code into ours: its kind, title, input, output and plan.
import { relative, resolve } from "node:path";
import type { ToolContent, UpdateOf } from "@hawser/contract";
import type { ToolResult, ToolUse } from "./messages.ts";

type Kind = UpdateOf<"tool_call">["kind"];

const kinds: Record<string, Kind> = {
  Bash: "execute",
  BashOutput: "execute",
  Read: "read",
  Write: "edit",
  Edit: "edit",
  MultiEdit: "edit",
  NotebookEdit: "edit",
  Glob: "search",
  Grep: "search",
  WebSearch: "search",
  WebFetch: "fetch",
  Task: "think",
  Agent: "think",
  TodoWrite: "think",
  ExitPlanMode: "think",
};

export const kindOf = (tool: string): Kind => kinds[tool] ?? "other";

const subjects = [
  "command",
  "file_path",
  "notebook_path",
  "url",
  "query",
  "pattern",
  "path",
  "description",
  "skill",
];

/** The command, file, address or pattern that the call names; null if it names none. */
export function subjectOf({ name, input }: Pick<ToolUse, "name" | "input">): string | null {
  if (name === "TodoWrite" || name === "AskUserQuestion") return null;
  for (const key of subjects) {
    const value = input[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
}

export function titleOf(call: ToolUse): string {
  const subject = subjectOf(call);
  if (subject === null) return call.name;
  return call.name === "Bash" ? subject : `${call.name} ${subject}`;
}

const statuses = ["pending", "in_progress", "completed"] as const;

/** The plan that a call of TodoWrite sets; undefined for other tools. */
export function planOf({ name, input }: ToolUse): UpdateOf<"plan">["entries"] | undefined {
  const { todos } = input;
  if (name !== "TodoWrite" || !Array.isArray(todos)) return undefined;
  return (todos as { content?: unknown; status?: unknown }[]).flatMap((todo) => {
    const status = statuses.find((one) => one === todo.status);
    if (typeof todo.content !== "string" || !status) return [];
    return [{ content: todo.content, status, priority: "medium" as const }];
  });
}

const longestText = 64 * 1024;

/** A call's input with long texts shortened, such as the content of a file that it writes. */
export function inputOf({ input }: ToolUse): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [
      key,
      typeof value === "string" ? shorten(value) : value,
    ]),
  );
}

/** Cuts a text that is too long, and appends how much is missing. */
export function shorten(text: string, longest = longestText): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest)}\n… ${text.length - longest} more characters.`;
}

/** The output of a call, and the patch of the file that it changed. `detail` is its `tool_use_result`. */
export function contentOf(
  result: ToolResult,
  detail: unknown,
  directory: string,
): { content: ToolContent[]; failed: boolean } {
  const text = textOf(result.content);
  const content: ToolContent[] = text
    ? [{ type: "content", content: { type: "text", text: shorten(text) } }]
    : [];
  const patch = patchOf(detail, directory);
  if (patch) content.push(patch);
  return { content, failed: result.is_error === true };
}

/** How a failed command ended; undefined for one that succeeded, because Claude Code reports no code then. */
export function exitCodeOf({ content, is_error }: ToolResult): number | undefined {
  const [, code] = (is_error && /^Exit code (\d{1,3})(?:\n|$)/.exec(textOf(content))) || [];
  return code === undefined ? undefined : Number(code);
}

function textOf(content: ToolResult["content"]): string {
  if (typeof content === "string") return content;
  return (content ?? []).map((part) => part.text ?? `[${part.type}]`).join("\n");
}

interface Hunk {
  oldStart: number;
  oldLines: number;
  newStart: number;
  newLines: number;
  lines: string[];
}

/** Claude Code reports an edit as hunks, and a new file as its content. */
function patchOf(detail: unknown, directory: string): ToolContent | undefined {
  const { filePath, structuredPatch, type, content } = (detail ?? {}) as {
    filePath?: string;
    structuredPatch?: Hunk[];
    type?: string;
    content?: string;
  };
  if (typeof filePath !== "string" || !Array.isArray(structuredPatch)) return undefined;
  const hunks = type === "create" ? [wholeFile(content ?? "")] : structuredPatch;
  const lines = hunks.flatMap((hunk) => hunk.lines);
  const path = relative(directory, resolve(directory, filePath));
  const head = `--- ${type === "create" ? "/dev/null" : `a/${path}`}\n+++ b/${path}\n`;
  const body = hunks.map((hunk) => `${headOf(hunk)}\n${hunk.lines.join("\n")}\n`).join("");
  return {
    type: "patch",
    path,
    patch: cutLines(head + body),
    added: lines.filter((line) => line.startsWith("+")).length,
    removed: lines.filter((line) => line.startsWith("-")).length,
  };
}

function wholeFile(content: string): Hunk {
  const lines = content.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const added = lines.map((line) => `+${line}`);
  return { oldStart: 0, oldLines: 0, newStart: 1, newLines: added.length, lines: added };
}

const headOf = ({ oldStart, oldLines, newStart, newLines }: Hunk) =>
  `@@ -${oldStart},${oldLines} +${newStart},${newLines} @@`;

/** At most 64 KiB, in whole lines. */
function cutLines(patch: string): string {
  const bytes = Buffer.from(patch);
  if (bytes.length <= longestText) return patch;
  return `${bytes.subarray(0, bytes.lastIndexOf(10, longestText - 1)).toString("utf8")}\n`;
}
