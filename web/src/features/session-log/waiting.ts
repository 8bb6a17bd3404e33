// The prompts that wait, as log entries change them.
import type { Entry, QueueEntry, QueueUpdate, WaitingPrompt } from "./row.ts";

const words: ReadonlySet<string> = new Set([
  "prompt_queued",
  "prompt_changed",
  "prompt_moved",
  "prompt_dropped",
  "turn_started",
] satisfies QueueUpdate["sessionUpdate"][]);

export function queueEntryOf({ seq, at, update }: Entry): QueueEntry | undefined {
  if (!words.has(update.sessionUpdate)) return undefined;
  return { seq, at, update: update as unknown as QueueUpdate };
}

/** The prompts that wait after this entry, in the order in which they run. */
export function waitingAfter<Waiting extends WaitingPrompt>(
  waiting: readonly (Waiting | WaitingPrompt)[],
  { at, update }: QueueEntry,
): (Waiting | WaitingPrompt)[] {
  const { messageId } = update;
  const others = waiting.filter((each) => each.messageId !== messageId);
  switch (update.sessionUpdate) {
    case "prompt_queued":
      return [...others, { messageId, turnId: update.turnId, text: update.text, at }];
    case "prompt_changed":
      return waiting.map((each) =>
        each.messageId === messageId ? { ...each, text: update.text } : each,
      );
    case "prompt_moved": {
      const moved = waiting.find((each) => each.messageId === messageId);
      if (!moved) return [...waiting];
      const before = others.findIndex((each) => each.messageId === update.beforeMessageId);
      return others.toSpliced(before === -1 ? others.length : before, 0, moved);
    }
    default:
      return others;
  }
}
