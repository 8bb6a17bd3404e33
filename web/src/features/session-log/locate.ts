// Where an entry is drawn: in which row, and what has to be opened before it is seen.
import { callKey } from "./folds.ts";
import type { Entry, LaneRow, Row } from "./row.ts";

export interface Located {
  /** The row of the transcript. */
  at: number;
  /** From the outermost to the innermost. */
  opens: string[];
  /** If it is a call's. */
  toolCallId: string | undefined;
}

/** Undefined if nothing is drawn at all. */
export function locate(rows: readonly Row[], entry: Entry): Located | undefined {
  for (const [at, row] of rows.entries()) {
    const opens = wayTo(row, entry);
    if (opens) return { at, opens, toolCallId: wordOf(entry, "toolCallId") };
  }
  // Entries that are drawn with others, or not at all: the row that was there when it happened.
  const at = rows.findLastIndex(({ seq }) => seq !== null && seq <= entry.seq);
  return rows.length === 0 ? undefined : { at: Math.max(at, 0), opens: [], toolCallId: undefined };
}

/** What to open for the entry to be seen; undefined if it is not in this row. */
function wayTo(row: Row, entry: Entry): string[] | undefined {
  const toolCallId = wordOf(entry, "toolCallId");
  const isCall = (call: { toolCallId: string }) => call.toolCallId === toolCallId;
  switch (row.is) {
    case "call":
      return isCall(row.call) ? [callKey(row.call.toolCallId)] : undefined;
    case "fold": {
      const call = row.calls.find(isCall);
      return call && [row.key, callKey(call.toolCallId)];
    }
    case "lane":
      return wayInLane(row, entry);
    case "lanes":
      return within(row.key, row.lanes, entry);
    case "reverted":
      return within(row.key, row.rows, entry);
    case "thought":
    case "note":
      return row.seq === entry.seq || isOfMessage(row, entry) ? [row.key] : undefined;
    case "plan":
      return entry.update.sessionUpdate === "plan" && row.key === `plan:${entry.turnId}`
        ? []
        : undefined;
    default:
      return row.seq === entry.seq || isOfMessage(row, entry) ? [] : undefined;
  }
}

function wayInLane(row: LaneRow, entry: Entry): string[] | undefined {
  if (row.call.toolCallId === wordOf(entry, "toolCallId")) return [];
  return within(row.key, row.rows, entry);
}

function within(key: string, rows: readonly Row[], entry: Entry): string[] | undefined {
  for (const row of rows) {
    const way = wayTo(row, entry);
    if (way) return [key, ...way];
  }
  return undefined;
}

/** Prompts, texts, thoughts and shells are keyed by what they are of. */
function isOfMessage({ key }: Row, entry: Entry): boolean {
  const id = wordOf(entry, "messageId") ?? wordOf(entry, "shellId");
  return id !== undefined && ["prompt", "message", "shell"].some((word) => key === `${word}:${id}`);
}

function wordOf(entry: Entry, name: string): string | undefined {
  const value = entry.update[name];
  return typeof value === "string" ? value : undefined;
}
