// For tests: a log of any length, as a long session of a real agent leaves it.
import type { Entry } from "../src/features/session-log/row.ts";

const paragraph =
  "The receipt is written *after* the payout is queued, and it is keyed by `delivery.id`, which is new on every attempt. Two deliveries of one event both pass the check.";

/** The entry with this number. Turns have 40 entries: a prompt, calls with their ends, prose, and an end. */
export function generatedEntry(seq: number): Entry {
  const place = (seq - 1) % 40;
  const turn = Math.floor((seq - 1) / 40) + 1;
  const at = new Date(Date.UTC(2026, 10, 1) + seq * 1_000).toISOString();
  const text = (content: string) => ({ type: "text", text: content });
  const entry = (update: Entry["update"]): Entry => ({ seq, at, turnId: `t${turn}`, update });
  if (place === 0) {
    return entry({
      sessionUpdate: "turn_started",
      messageId: `p${turn}`,
      model: null,
      agent: null,
    });
  }
  if (place === 1) {
    const content = text(`Prompt ${turn}: find the next cause, and prove it with a test.`);
    return entry({ sessionUpdate: "user_message_chunk", messageId: `p${turn}`, content });
  }
  if (place === 39)
    return entry({ sessionUpdate: "turn_finished", outcome: "completed", reason: null });
  if (place % 6 === 2) {
    const lines = place === 38 ? "\n\n- one\n- two\n\n```ts\nconst x = 1;\n```" : "";
    return entry({
      sessionUpdate: "agent_message_chunk",
      messageId: `m${seq}`,
      content: text(`${seq}. ${paragraph}${lines}`),
      parentToolCallId: null,
    });
  }
  // A call and its end follow each other.
  const isEnd = place % 2 === 0;
  const toolCallId = `c${isEnd ? seq - 1 : seq}`;
  const kind = ["read", "execute", "edit"][place % 3]!;
  return isEnd
    ? entry({
        sessionUpdate: "tool_call_update",
        toolCallId,
        status: "completed",
        content: [{ type: "content", content: text(`line of ${seq}\n`.repeat(20)) }],
      })
    : entry({
        sessionUpdate: "tool_call",
        toolCallId,
        title: `step ${seq}`,
        kind,
        status: "in_progress",
        rawInput: {},
        parentToolCallId: null,
      });
}
