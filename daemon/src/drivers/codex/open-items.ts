// The open items of a thread: incomplete texts and running tool calls. Codex does not end all of them
// itself, for instance a message that was cut or a command that outlives its turn.
import type { TurnOutcome } from "@hawser/contract";
import type { AgentEvent } from "../driver.ts";
import { maxReported, type Cursor } from "./cursor.ts";
import { callIn, contentOf, resultIn, textIn, textUpdate, type QuestionItem } from "./items.ts";
import type { FileChangeItem, Item } from "./protocol.ts";

const maxOutput = 64 * 1024;
const stopped = "The call was stopped.";

interface OpenItem {
  item: Item | QuestionItem;
  /** Thread of the item: the session's own or a sub-agent's. */
  threadId: string;
  parent: string | null;
  /** Text received so far; undefined for a tool call. */
  text: { kind: "message" | "thought"; text: string } | undefined;
  /** Output of a command received so far. */
  output: string;
}

export interface OpenItems {
  started(item: Item | QuestionItem, threadId: string, parent: string | null): void;
  completed(item: Item | QuestionItem, threadId: string, parent: string | null): void;
  appendText(itemId: string, delta: string): void;
  appendOutput(itemId: string, delta: string): void;
  /** Ends a call whose request will not be answered. */
  stop(itemId: string): void;
  /** Ends a call that does not run, for this reason. */
  refuse(itemId: string, reason: string): void;
  /** Ends the call of a question. */
  answer(itemId: string, answers: string[][] | null): void;
  /** Ends the open items of one thread, or of all. Commands continue unless the turn was stopped. */
  close(outcome: TurnOutcome | "retry", threadId?: string): void;
  /** The incomplete texts, from their beginning. */
  openTexts(): AgentEvent[];
  /** Whether codex is condensing the history. */
  isCondensing(): boolean;
  hasCommand(): boolean;
  isCall(itemId: string): boolean;
  changeOf(itemId: string): FileChangeItem | undefined;
}

/** Updates the cursor before each report. */
export function createItems(
  directory: string,
  cursor: Cursor,
  report: (event: AgentEvent) => void,
): OpenItems {
  const open = new Map<string, OpenItem>();
  /** Calls whose start was reported in an earlier process. */
  const startedEarlier = new Set(cursor.open);
  /** Commands that continue after their turn. Their calls were reported as ended. */
  const inBackground = new Set<string>();
  const condensing = new Set<string>();
  /** The latest ended items of sub-agents. Not in the cursor, because catching up skips sub-agents. */
  let endedOfSubAgents: string[] = [];

  const end = (itemId: string, parent: string | null) => {
    open.delete(itemId);
    cursor.open = cursor.open.filter((id) => id !== itemId);
    if (parent === null) cursor.told = [...cursor.told, itemId].slice(-maxReported);
    else endedOfSubAgents = [...endedOfSubAgents, itemId].slice(-maxReported);
  };

  const endCall = (itemId: string, parent: string | null, result: ReturnType<typeof resultIn>) => {
    end(itemId, parent);
    const update = { sessionUpdate: "tool_call_update" as const, toolCallId: itemId, ...result };
    report({ type: "update", update });
  };

  const items: OpenItems = {
    started(item, threadId, parent) {
      const text = textIn(item);
      const call = callIn(item, directory);
      if (item.type === "contextCompaction") condensing.add(item.id);
      if ((!text && !call) || open.has(item.id)) return;
      open.set(item.id, {
        item,
        threadId,
        parent,
        text: text && { ...text, text: "" },
        output: "",
      });
      if (!call) return;
      cursor.open = [...cursor.open, item.id];
      const sessionUpdate = "tool_call" as const;
      report({
        type: "update",
        update: {
          sessionUpdate,
          toolCallId: item.id,
          ...call,
          status: "in_progress",
          parentToolCallId: parent,
        },
      });
    },

    completed(item, threadId, parent) {
      const ended = parent === null ? cursor.told : endedOfSubAgents;
      if (inBackground.delete(item.id) || ended.includes(item.id)) return;
      const text = textIn(item);
      if (text) {
        end(item.id, parent);
        if (text.text === "") return;
        report({ type: "update", update: textUpdate(item.id, text, parent) });
        return;
      }
      if (callIn(item, directory)) {
        if (!startedEarlier.delete(item.id)) items.started(item, threadId, parent);
        return endCall(item.id, parent, resultIn(item, directory));
      }
      // Our own prompt.
      if (item.type === "userMessage") return;
      end(item.id, parent);
      if (item.type === "contextCompaction") {
        condensing.delete(item.id);
        // Only the session's own history is reported as condensed.
        if (parent === null) report({ type: "compacted" });
        return;
      }
      report({ type: "update", update: { sessionUpdate: "unknown", raw: { item } } });
    },

    appendText(itemId, delta) {
      const text = open.get(itemId)?.text;
      if (!text || delta === "") return;
      report({ type: "text", itemId, kind: text.kind, offset: text.text.length, text: delta });
      text.text += delta;
    },

    appendOutput(itemId, delta) {
      const item = open.get(itemId);
      if (item) item.output = (item.output + delta).slice(-maxOutput);
    },

    stop: (itemId) => items.refuse(itemId, stopped),

    refuse(itemId, reason) {
      const parent = open.get(itemId)?.parent ?? null;
      const result = { status: "failed" as const, content: contentOf(reason) };
      if (items.isCall(itemId)) endCall(itemId, parent, result);
    },

    answer(itemId, answers) {
      const { item, parent = null } = open.get(itemId) ?? {};
      if (item?.type !== "userInput") return;
      endCall(itemId, parent, resultIn({ ...item, answers }, directory));
    },

    close(outcome, threadId) {
      condensing.clear();
      for (const [itemId, { item, text, output, parent, ...about }] of open) {
        if (threadId !== undefined && about.threadId !== threadId) continue;
        if (text) {
          end(itemId, parent);
          if (text.text === "") continue;
          report({ type: "update", update: textUpdate(itemId, text, parent) });
        } else if (outcome !== "retry") {
          const continues =
            (outcome === "completed" || outcome === "failed") && item.type === "commandExecution";
          if (continues) inBackground.add(itemId);
          const note = continues ? "The command continues in the background." : stopped;
          endCall(itemId, parent, {
            status: continues ? "completed" : "failed",
            content: contentOf(
              `${output}${output === "" || output.endsWith("\n") ? "" : "\n"}${note}`,
            ),
          });
        }
      }
    },

    openTexts: () =>
      [...open].flatMap(([itemId, { text }]) =>
        text && text.text !== ""
          ? [{ type: "text" as const, itemId, kind: text.kind, offset: 0, text: text.text }]
          : [],
      ),
    isCondensing: () => condensing.size > 0,
    hasCommand: () => [...open.values()].some(({ item }) => item.type === "commandExecution"),
    isCall: (itemId) => open.has(itemId) && !open.get(itemId)?.text,
    changeOf(itemId) {
      const item = open.get(itemId)?.item;
      return item?.type === "fileChange" ? item : undefined;
    },
  };
  return items;
}
