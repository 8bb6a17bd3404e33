// Whether logs can be true: a journal counts 1, 2, 3 … and says nothing twice, and every viewer saw
// exactly that, once and in order.
import type { Entry } from "../history.ts";
import { same, violation, type Violation } from "../violation.ts";
import type { JournalLog, SeenEntry, ViewerLog } from "./history.ts";

export function checkJournal({ sessionId, entries }: JournalLog): Violation[] {
  const found: Violation[] = [];
  const said = new Map<string, number>();
  for (const [index, entry] of entries.entries()) {
    const { seq, update } = entry;
    const at = `${sessionId} at ${index + 1}: seq ${seq}`;
    if (seq !== index + 1) {
      found.push({ rule: "a journal has a gap or a repeat", lines: [at] });
      break;
    }
    if (update["sessionUpdate"] === "journal_reset") {
      found.push({ rule: "a needless reset", lines: [at] });
    }
    const key = keyOf(entry);
    const before = key && said.get(key);
    if (before) found.push(violation("an entry was written twice", at, `as seq ${before}`, entry));
    if (key) said.set(key, seq);
  }
  return found;
}

/** What may be said once in a session; nothing for entries that may say the same again. */
function keyOf({ turnId, update }: Entry): string | undefined {
  const { sessionUpdate, messageId, toolCallId, requestId } = update;
  switch (sessionUpdate) {
    case "user_message_chunk":
    case "agent_message_chunk":
    case "agent_thought_chunk":
    case "prompt_queued":
    case "prompt_dropped":
      return `${sessionUpdate} ${String(messageId)}`;
    case "tool_call":
    case "tool_call_update":
      return `${sessionUpdate} ${String(toolCallId)}`;
    case "request_raised":
    case "request_settled":
      return `${sessionUpdate} ${String(requestId)}`;
    case "turn_started":
    case "turn_finished":
      return `${sessionUpdate} ${turnId}`;
    default:
      return undefined;
  }
}

/** A viewer saw the journal: all of it, nothing else, each entry once and in its place. */
export function checkViewer(log: ViewerLog, journal: readonly Entry[]): Violation[] {
  const { viewer, sessionId, seen } = log;
  const who = `${viewer} of ${sessionId}`;
  let last = 0;
  for (const entry of seen) {
    const rule = misplaced(entry.seq, last);
    if (rule) return [violation(rule, who, `after seq ${last}`, brief(entry))];
    const written = journal[entry.seq - 1];
    if (!written) return [violation("a viewer saw what no journal holds", who, brief(entry))];
    if (!isSame(entry, written)) {
      return [violation("a viewer saw another entry", who, brief(entry), written)];
    }
    last = entry.seq;
  }
  if (last === journal.length) return [];
  const lines = `saw ${last} of ${journal.length} entries`;
  return [violation("a viewer stopped before the end", who, lines, journal[last])];
}

function misplaced(seq: number, last: number): string | undefined {
  if (seq === last) return "a viewer saw an entry twice";
  if (seq < last) return "a viewer saw entries out of order";
  if (seq > last + 1) return "a viewer missed an entry";
  return undefined;
}

function isSame({ seq, turnId, update }: SeenEntry, written: Entry): boolean {
  // The host and the service may write the same moment differently.
  return same({ seq, turnId, update }, { seq, turnId: written.turnId, update: written.update });
}

const brief = ({ seq, turnId, update }: SeenEntry) => ({ seq, turnId, update });
