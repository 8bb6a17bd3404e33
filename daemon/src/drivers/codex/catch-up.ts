// Reports what codex did after the last reported event, when the daemon or the process ended: read from
// codex's transcript, which stores each item under the id of its notifications.
import type { AgentEvent } from "../driver.ts";
import type { Cursor } from "./cursor.ts";
import { explainTurnError } from "./failures.ts";
import { contentOf } from "./items.ts";
import type { OpenItems } from "./open-items.ts";
import type { Turn } from "./protocol.ts";

interface Context {
  threadId: string;
  cursor: Cursor;
  items: OpenItems;
  report: (event: AgentEvent) => void;
}

/** Reports the rest of the turn that was running, if any, and its end. `last` is codex's last turn. */
export function catchUp(last: Turn | undefined, hadTurn: boolean, context: Context): void {
  const { cursor, report } = context;
  // Undefined if the prompt had not reached codex.
  const own = hadTurn && !(last?.id === cursor.turn && cursor.isOver) ? last : undefined;
  if (own) reportRest(own, context);
  for (const toolCallId of cursor.open) {
    cursor.open = cursor.open.filter((id) => id !== toolCallId);
    const content = contentOf("The agent's process ended before this call did.");
    const sessionUpdate = "tool_call_update";
    report({ type: "update", update: { sessionUpdate, toolCallId, status: "failed", content } });
  }
  const isStale = cursor.turn !== (last?.id ?? null) || (last !== undefined && !cursor.isOver);
  cursor.turn = last?.id ?? null;
  cursor.isOver = true;
  if (!hadTurn) {
    // Codex was reverted, or its turn ended, before the cursor was stored: reverted items must not be reported
    // later, and the end of that turn must not count as the end of the next one.
    if (isStale) report({ type: "cursor_moved" });
    return;
  }
  if (own?.status === "completed") {
    report({ type: "turn_ended", outcome: "completed", reason: null });
  } else if (own?.status === "failed") {
    report({ type: "turn_ended", ...explainTurnError(own.error) });
  } else {
    const reason = "The agent's process ended while the turn was running.";
    report({ type: "turn_ended", outcome: "interrupted", reason });
  }
}

function reportRest(turn: Turn, { threadId, cursor, items }: Context): void {
  if (turn.id !== cursor.turn) cursor.told = [];
  const known = new Set(cursor.told);
  // The cursor has only the latest ids: items before the first known one were reported.
  const first = turn.items.findIndex(({ id }) => known.has(id));
  for (const item of turn.items.slice(Math.max(0, first))) {
    if (!known.has(item.id)) items.completed(item, threadId, null);
  }
}
