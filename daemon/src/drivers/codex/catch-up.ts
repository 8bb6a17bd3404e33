// What codex did that nobody was told, because the daemon or the process ended: read from codex's own
// transcript, which has each item under the id it was told by.
import type { AgentEvent } from "../driver.ts";
import type { Cursor } from "./cursor.ts";
import { explainTurnError } from "./failures.ts";
import { text } from "./items.ts";
import type { OpenItems } from "./open-items.ts";
import type { Turn } from "./protocol.ts";

interface Told {
  threadId: string;
  cursor: Cursor;
  items: OpenItems;
  tell: (event: AgentEvent) => void;
}

/** Tells the rest of the turn that was running, if one was, and that it is over. */
export function catchUp(last: Turn | undefined, hadTurn: boolean, told: Told): void {
  const { cursor, tell } = told;
  // Otherwise the prompt had not reached codex.
  const own = hadTurn && !(last?.id === cursor.turn && cursor.isOver) ? last : undefined;
  if (own) tellRest(own, told);
  for (const toolCallId of cursor.open) {
    cursor.open = cursor.open.filter((id) => id !== toolCallId);
    const content = text("The agent's process ended before this was done.");
    const sessionUpdate = "tool_call_update";
    tell({ type: "update", update: { sessionUpdate, toolCallId, status: "failed", content } });
  }
  const isElsewhere = cursor.turn !== (last?.id ?? null);
  cursor.turn = last?.id ?? null;
  cursor.isOver = true;
  if (!hadTurn) {
    // Codex went back, and that was not written down: what it did before must not be told as news.
    if (isElsewhere) tell({ type: "cursor_moved" });
    return;
  }
  if (own?.status === "completed") {
    tell({ type: "turn_ended", outcome: "completed", reason: null });
  } else if (own?.status === "failed") {
    tell({ type: "turn_ended", outcome: "failed", reason: explainTurnError(own.error) });
  } else {
    const reason = "The agent's process ended while the turn was running.";
    tell({ type: "turn_ended", outcome: "interrupted", reason });
  }
}

function tellRest(turn: Turn, { threadId, cursor, items }: Told): void {
  if (turn.id !== cursor.turn) cursor.told = [];
  const known = new Set(cursor.told);
  // Only the latest ids are kept: what lies before the first of them was told.
  const first = turn.items.findIndex(({ id }) => known.has(id));
  for (const item of turn.items.slice(Math.max(0, first))) {
    if (!known.has(item.id)) items.completed(item, threadId, null);
  }
}
