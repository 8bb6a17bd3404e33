// Translates the items of a codex turn into session updates. Pure functions without state.
import { relative } from "node:path";
import type { ToolContent, UpdateOf } from "@hawser/contract";
import type { ItemUpdate } from "../driver.ts";
import type { CommandItem, FileChange, FileChangeItem, Item } from "./protocol.ts";
import { commandOf } from "./shell-words.ts";

const longestPatch = 64 * 1024;

type Call = Pick<UpdateOf<"tool_call">, "title" | "kind" | "rawInput">;
type Result = Pick<UpdateOf<"tool_call_update">, "status" | "content" | "exitCode">;

/** A question to the user, as an item. Codex itself has no item for it. */
export interface QuestionItem {
  type: "userInput";
  id: string;
  questions: string[];
  answers: string[][] | null;
}

/** The text of an item; undefined if the item is not a text. */
export function textIn(
  item: Item | QuestionItem,
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

export function textUpdate(
  messageId: string,
  { kind, text }: { kind: "message" | "thought"; text: string },
  parentToolCallId: string | null,
): ItemUpdate {
  const sessionUpdate = kind === "message" ? "agent_message_chunk" : "agent_thought_chunk";
  return { sessionUpdate, messageId, content: { type: "text", text }, parentToolCallId };
}

/** The item as a tool call; undefined if it is not one. */
export function callIn(item: Item | QuestionItem, directory: string): Call | undefined {
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
      return { title: readable(item.tool), kind: "think", rawInput: { prompt: item.prompt } };
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

/** The result of an item that is a tool call. */
export function resultIn(item: Item | QuestionItem, directory: string): Result {
  switch (item.type) {
    case "commandExecution":
      return commandResult(item);
    case "fileChange":
      return {
        status: item.status === "completed" ? "completed" : "failed",
        content:
          item.status === "declined"
            ? contentOf("This was rejected.")
            : item.changes.map((change) => patchOf(change, directory)),
      };
    case "mcpToolCall":
      return {
        status: item.status === "completed" ? "completed" : "failed",
        content: contentOf(item.error?.message ?? JSON.stringify(item.result?.content ?? [])),
      };
    case "userInput":
      return item.answers === null
        ? { status: "failed", content: contentOf("The question was dismissed.") }
        : { status: "completed", content: contentOf(item.answers.flat().join(", ")) };
    case "collabAgentToolCall":
      return { status: item.status === "completed" ? "completed" : "failed", content: [] };
    default:
      return { status: "completed", content: [] };
  }
}

/** A text as the content of a tool call. */
export const contentOf = (text: string): ToolContent[] => [
  { type: "content", content: { type: "text", text } },
];

function commandKind({ commandActions }: CommandItem): Call["kind"] {
  const [first, ...others] = new Set(commandActions.map(({ type }) => type));
  if (others.length > 0) return "execute";
  if (first === "read" || first === "listFiles") return "read";
  return first === "search" ? "search" : "execute";
}

function commandResult({ status, aggregatedOutput, exitCode }: CommandItem): Result {
  if (status === "declined") return { status: "failed", content: contentOf("This was rejected.") };
  const output = aggregatedOutput ?? "";
  const code = exitCode === null || exitCode === 0 ? "" : `Exit code ${exitCode}.`;
  const shown = [output.trimEnd(), code].filter((part) => part !== "").join("\n");
  return {
    status: status === "completed" ? "completed" : "failed",
    content: shown === "" ? [] : contentOf(shown),
    ...(typeof exitCode === "number" && { exitCode }),
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
  // Codex reports an added or deleted file as its content.
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

/** Cuts to the maximal number of bytes, without splitting a character. */
function cut(patch: string): string {
  const bytes = Buffer.from(patch);
  if (bytes.length <= longestPatch) return patch;
  return new TextDecoder().decode(bytes.subarray(0, longestPatch), { stream: true });
}

/** `spawnAgent` becomes `Spawn agent`. */
const readable = (tool: string) => {
  const words = tool.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
};
