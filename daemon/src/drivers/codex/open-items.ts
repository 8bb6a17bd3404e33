// The items of a thread that have begun and not ended: what was said so far, and the calls that run. Codex
// does not end all of them itself: a message that is cut off, or a command that outlives its turn.
import type { TurnOutcome } from "@hawser/contract";
import type { AgentEvent } from "../driver.ts";
import { mostTold, type Cursor } from "./cursor.ts";
import { callIn, resultIn, saidIn, saidUpdate, text, type AskedItem } from "./items.ts";
import type { FileChangeItem, Item } from "./protocol.ts";

const mostOutput = 64 * 1024;
const stopped = "It was stopped.";

interface OpenItem {
  item: Item | AskedItem;
  /** The thread it belongs to: the session's own or a sub-agent's. */
  threadId: string;
  parent: string | null;
  said: { kind: "message" | "thought"; text: string } | undefined;
  /** What a command has printed, as far as it was told. */
  output: string;
}

export interface OpenItems {
  started(item: Item | AskedItem, threadId: string, parent: string | null): void;
  completed(item: Item | AskedItem, threadId: string, parent: string | null): void;
  more(itemId: string, delta: string): void;
  printed(itemId: string, delta: string): void;
  /** Ends a call that waited for an answer and will not get one. */
  stopped(itemId: string): void;
  /** Ends the call that asked a question. */
  answered(itemId: string, answers: string[][] | null): void;
  /** Ends what is open of a thread, or of all. Commands go on when nobody stopped the turn. */
  close(outcome: TurnOutcome | "retry", threadId?: string): void;
  /** What is being written, whole. */
  writing(): AgentEvent[];
  /** Whether the history is being condensed. */
  isCondensing(): boolean;
  hasCommand(): boolean;
  isCall(itemId: string): boolean;
  changeOf(itemId: string): FileChangeItem | undefined;
}

/** Notes in the cursor what it tells. */
export function openItems(
  directory: string,
  cursor: Cursor,
  tell: (event: AgentEvent) => void,
): OpenItems {
  const open = new Map<string, OpenItem>();
  /** Calls whose start was told by an earlier process. */
  const left = new Set(cursor.open);
  /** Commands that went on after their turn; their end was told with the turn's. */
  const goingOn = new Set<string>();
  const condensing = new Set<string>();
  /** Items of sub-agents that were told to the end, the latest ones. No transcript is read for them. */
  let toldBelow: string[] = [];

  const end = (itemId: string, parent: string | null) => {
    open.delete(itemId);
    cursor.open = cursor.open.filter((id) => id !== itemId);
    if (parent === null) cursor.told = [...cursor.told, itemId].slice(-mostTold);
    else toldBelow = [...toldBelow, itemId].slice(-mostTold);
  };

  const endCall = (itemId: string, parent: string | null, result: ReturnType<typeof resultIn>) => {
    end(itemId, parent);
    const update = { sessionUpdate: "tool_call_update" as const, toolCallId: itemId, ...result };
    tell({ type: "update", update });
  };

  const items: OpenItems = {
    started(item, threadId, parent) {
      const said = saidIn(item);
      const call = callIn(item, directory);
      if (item.type === "contextCompaction") condensing.add(item.id);
      if ((!said && !call) || open.has(item.id)) return;
      const about = said && { ...said, text: "" };
      open.set(item.id, { item, threadId, parent, said: about, output: "" });
      if (!call) return;
      cursor.open = [...cursor.open, item.id];
      const sessionUpdate = "tool_call" as const;
      tell({
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
      const told = parent === null ? cursor.told : toldBelow;
      if (goingOn.delete(item.id) || told.includes(item.id)) return;
      const said = saidIn(item);
      if (said) {
        end(item.id, parent);
        const isSaid = said.text !== "";
        if (isSaid) tell({ type: "update", update: saidUpdate(item.id, said, parent) });
        return;
      }
      if (callIn(item, directory)) {
        if (!left.delete(item.id)) items.started(item, threadId, parent);
        return endCall(item.id, parent, resultIn(item, directory));
      }
      // Our own prompt, told back.
      if (item.type === "userMessage") return;
      end(item.id, parent);
      if (item.type === "contextCompaction") {
        condensing.delete(item.id);
        // What a sub-agent forgets is its own business.
        if (parent === null) tell({ type: "compacted" });
        return;
      }
      tell({ type: "update", update: { sessionUpdate: "unknown", raw: { item } } });
    },

    more(itemId, delta) {
      const said = open.get(itemId)?.said;
      if (!said || delta === "") return;
      tell({ type: "text", itemId, kind: said.kind, offset: said.text.length, text: delta });
      said.text += delta;
    },

    printed(itemId, delta) {
      const item = open.get(itemId);
      if (item) item.output = (item.output + delta).slice(-mostOutput);
    },

    stopped(itemId) {
      const parent = open.get(itemId)?.parent ?? null;
      const result = { status: "failed" as const, content: text(stopped) };
      if (items.isCall(itemId)) endCall(itemId, parent, result);
    },

    answered(itemId, answers) {
      const { item, parent = null } = open.get(itemId) ?? {};
      if (item?.type !== "userInput") return;
      endCall(itemId, parent, resultIn({ ...item, answers }, directory));
    },

    close(outcome, threadId) {
      condensing.clear();
      for (const [itemId, { item, said, output, parent, ...about }] of open) {
        if (threadId !== undefined && about.threadId !== threadId) continue;
        if (said) {
          end(itemId, parent);
          if (said.text === "") continue;
          tell({ type: "update", update: saidUpdate(itemId, said, parent) });
        } else if (outcome !== "retry") {
          const goesOn =
            (outcome === "completed" || outcome === "failed") && item.type === "commandExecution";
          if (goesOn) goingOn.add(itemId);
          const words = goesOn ? "It goes on in the background." : stopped;
          endCall(itemId, parent, {
            status: goesOn ? "completed" : "failed",
            content: text(`${output}${output === "" || output.endsWith("\n") ? "" : "\n"}${words}`),
          });
        }
      }
    },

    writing: () =>
      [...open].flatMap(([itemId, { said }]) =>
        said && said.text !== ""
          ? [{ type: "text" as const, itemId, kind: said.kind, offset: 0, text: said.text }]
          : [],
      ),
    isCondensing: () => condensing.size > 0,
    hasCommand: () => [...open.values()].some(({ item }) => item.type === "commandExecution"),
    isCall: (itemId) => open.has(itemId) && !open.get(itemId)?.said,
    changeOf(itemId) {
      const item = open.get(itemId)?.item;
      return item?.type === "fileChange" ? item : undefined;
    },
  };
  return items;
}
