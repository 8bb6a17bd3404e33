// The items of a codex turn in the words of the session log. Pure: what was told before is not known here.
import { relative } from "node:path";
import type { ToolContent, UpdateOf } from "@hawser/contract";
import type { ItemUpdate } from "../driver.ts";
import type { CommandItem, FileChange, FileChangeItem, Item } from "./protocol.ts";
import { commandOf } from "./shell-words.ts";

const longestPatch = 64 * 1024;

type Call = Pick<UpdateOf<"tool_call">, "title" | "kind" | "rawInput">;
type Result = Pick<UpdateOf<"tool_call_update">, "status" | "content">;

/** Codex asks questions by a tool, but makes no item of it. */
export interface AskedItem {
  type: "userInput";
  id: string;
  questions: string[];
  answers: string[][] | null;
}

/** What is said in an item; nothing when it says nothing. */
export function saidIn(
  item: Item | AskedItem,
): { kind: "message" | "thought"; text: string } | undefined {
  switch (item.type) {
    case "agentMessage":
    case "plan":
      return { kind: "message", text: item.text };
    case "reasoning": {
      const parts = item.summary.length > 0 ? item.summary : item.content;
      return { kind: "thought", text: parts.join("\n\n") };
    }
    default:
      return undefined;
  }
}

export function saidUpdate(
  messageId: string,
  { kind, text }: { kind: "message" | "thought"; text: string },
  parentToolCallId: string | null,
): ItemUpdate {
  const sessionUpdate = kind === "message" ? "agent_message_chunk" : "agent_thought_chunk";
  return { sessionUpdate, messageId, content: { type: "text", text }, parentToolCallId };
}

/** How an item looks as a tool call; nothing when it is none. */
export function callIn(item: Item | AskedItem, directory: string): Call | undefined {
  switch (item.type) {
    case "commandExecution": {
      const command = commandOf(item.command);
      return { title: command, kind: commandKind(item), rawInput: { command, cwd: item.cwd } };
    }
    case "fileChange": {
      const paths = item.changes.map(({ path }) => relative(directory, path));
      return { title: `Edit ${paths.join(", ")}`, kind: changeKind(item), rawInput: { paths } };
    }
    case "mcpToolCall":
      return { title: `${item.server} ${item.tool}`, kind: "other", rawInput: item.arguments };
    case "collabAgentToolCall":
      return { title: agentWords(item.tool), kind: "think", rawInput: { prompt: item.prompt } };
    case "webSearch":
      return {
        title: item.query || "Search the web",
        kind: "fetch",
        rawInput: { query: item.query },
      };
    case "userInput":
      return { title: item.questions.join(" "), kind: "other", rawInput: item.questions };
    case "imageView":
      return { title: `Look at ${item.path}`, kind: "read", rawInput: { path: item.path } };
    default:
      return undefined;
  }
}

/** How a tool call ended. */
export function resultIn(item: Item | AskedItem, directory: string): Result {
  switch (item.type) {
    case "commandExecution":
      return commandResult(item);
    case "fileChange":
      return {
        status: item.status === "completed" ? "completed" : "failed",
        content:
          item.status === "declined"
            ? text("This was rejected.")
            : item.changes.map((change) => patchOf(change, directory)),
      };
    case "mcpToolCall":
      return {
        status: item.status === "completed" ? "completed" : "failed",
        content: text(item.error?.message ?? JSON.stringify(item.result?.content ?? [])),
      };
    case "userInput":
      return item.answers === null
        ? { status: "failed", content: text("The question was dismissed.") }
        : { status: "completed", content: text(item.answers.flat().join(", ")) };
    case "collabAgentToolCall":
      return { status: item.status === "completed" ? "completed" : "failed", content: [] };
    default:
      return { status: "completed", content: [] };
  }
}

/** Words of ours as what a call shows. */
export const text = (words: string): ToolContent[] => [
  { type: "content", content: { type: "text", text: words } },
];

function commandKind({ commandActions }: CommandItem): Call["kind"] {
  const [first, ...others] = new Set(commandActions.map(({ type }) => type));
  if (others.length > 0) return "execute";
  if (first === "read" || first === "listFiles") return "read";
  return first === "search" ? "search" : "execute";
}

function commandResult({ status, aggregatedOutput, exitCode }: CommandItem): Result {
  if (status === "declined") return { status: "failed", content: text("This was rejected.") };
  const output = aggregatedOutput ?? "";
  const code = exitCode === null || exitCode === 0 ? "" : `Exit code ${exitCode}.`;
  const words = [output.trimEnd(), code].filter((part) => part !== "").join("\n");
  return {
    status: status === "completed" ? "completed" : "failed",
    content: words === "" ? [] : text(words),
  };
}

function changeKind({ changes }: FileChangeItem): Call["kind"] {
  if (changes.every(({ kind }) => kind.type === "delete")) return "delete";
  return changes.some(({ kind }) => kind.move_path) ? "move" : "edit";
}

function patchOf({ path, kind, diff }: FileChange, directory: string): ToolContent {
  const lines = diff.split("\n");
  if (lines.at(-1) === "") lines.pop();
  const sign = kind.type === "add" ? "+" : kind.type === "delete" ? "-" : "";
  // Codex gives a file that is new or gone as its text.
  const span = sign === "+" ? `-0,0 +1,${lines.length}` : `-1,${lines.length} +0,0`;
  const patch =
    sign === "" ? diff : [`@@ ${span} @@`, ...lines.map((line) => sign + line), ""].join("\n");
  const count = (mark: string) => lines.filter((line) => line.startsWith(mark)).length;
  return {
    type: "patch",
    path: relative(directory, path),
    patch: cut(patch),
    added: sign === "" ? count("+") : sign === "+" ? lines.length : 0,
    removed: sign === "" ? count("-") : sign === "-" ? lines.length : 0,
  };
}

/** At most so many bytes, and no half character at the end. */
function cut(patch: string): string {
  const bytes = Buffer.from(patch);
  if (bytes.length <= longestPatch) return patch;
  return new TextDecoder().decode(bytes.subarray(0, longestPatch), { stream: true });
}

/** `spawnAgent` reads as `Spawn agent`. */
const agentWords = (tool: string) => {
  const words = tool.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};
