// How a tool call is named: its verb in the present and the past, and what it is about. The same for all kinds of agents.
import { words, type WordId } from "../../words/words.ts";
import type { Call } from "./row.ts";

const kinds = ["read", "edit", "delete", "move", "search", "execute", "fetch"] as const;
type Known = (typeof kinds)[number];
const isKnown = (kind: string): kind is Known => kinds.includes(kind as Known);

/** Names under which the three kinds of agents report a path. */
const pathFields = ["filePath", "file_path", "path", "notebook_path"];

/** The verb and the target of a call, such as "Ran" and "npm test". */
export function wordsOf(call: Call): { verb: string; target: string } {
  const { kind, title, state } = call;
  const known = isKnown(kind) ? kind : "other";
  const verb: WordId =
    state !== "running" && isCreation(call)
      ? "call.create.past"
      : `call.${known}.${state === "running" ? "now" : "past"}`;
  return { verb: words(verb), target: targetOf(call, known) ?? toolName(title) };
}

function targetOf({ rawInput, content }: Call, kind: Known | "other"): string | undefined {
  const input = (rawInput ?? {}) as Record<string, unknown>;
  const text = (name: string) => (typeof input[name] === "string" ? input[name] : undefined);
  if (kind === "execute" || kind === "other") return undefined;
  if (kind === "fetch") return text("url");
  if (kind === "search") return text("pattern") ?? text("query");
  const patched = content.find((part) => part.type === "patch")?.path;
  const path = patched ?? pathFields.map(text).find((found) => found !== undefined);
  // The session's own worktree is where everything happens, so its path says nothing.
  return path?.replace(/^.*\/worktrees\/ses_[a-z0-9]+\//, "");
}

/** What a sub-agent is to do, in the words of the agent that began it. */
export function laneTitle({ rawInput, title }: Call): string {
  const { description } = (rawInput ?? {}) as { description?: unknown };
  return typeof description === "string" && description !== "" ? description : title;
}

/** Whether an edit made a new file, as its patch says. */
function isCreation({ kind, content }: Call): boolean {
  if (kind !== "edit") return false;
  const patches = content.filter((part) => part.type === "patch");
  return patches.length > 0 && patches.every(({ patch }) => /^--- \/dev\/null$/m.test(patch));
}

/** A tool of an MCP server as people write it: "github · search_issues" for mcp__github__search_issues. */
export function toolName(title: string): string {
  return title.replace(/^mcp__(.+?)__(.+)$/, "$1 · $2");
}

/** Lines added and removed by the call; undefined if it reported no patch. */
export function changedLines({ content }: Call): { added: number; removed: number } | undefined {
  const patches = content.filter((part) => part.type === "patch");
  if (patches.length === 0) return undefined;
  return {
    added: patches.reduce((sum, { added }) => sum + added, 0),
    removed: patches.reduce((sum, { removed }) => sum + removed, 0),
  };
}

/** What the call wrote, as one text. */
export function outputOf({ content }: Call): string {
  return content.map((part) => (part.type === "content" ? part.content.text : "")).join("");
}

/** How long it took; undefined while it runs. */
export function durationOf({ at, endedAt }: Call): number | undefined {
  return endedAt === undefined ? undefined : Math.max(0, Date.parse(endedAt) - Date.parse(at));
}

export interface Tail {
  text: string;
  shown: number;
  total: number;
}

/** The last lines of an output. */
export function lastLines(output: string, most: number): Tail {
  const lines = output.replace(/\n$/, "").split("\n");
  const total = output === "" ? 0 : lines.length;
  return { text: lines.slice(-most).join("\n"), shown: Math.min(most, total), total };
}
