// What waits, and who edits it: the queue as the host last showed it, with what the log has reported since.
import type { Result } from "../../calls/call.ts";
import type { QueueEntry, WaitingPrompt } from "./row.ts";
import { waitingAfter } from "./waiting.ts";

export type Queue = Result<"list_queued_prompts">;
type QueuedPrompt = Queue["prompts"][number];

export interface WaitingRow {
  messageId: string;
  text: string;
  /** undefined until the host has shown the prompt. */
  shown: QueuedPrompt | undefined;
}

export interface WaitingRows {
  /** The entry up to which this is the queue. */
  version: number;
  rows: readonly WaitingRow[];
}

/** Never what somebody has asked for and the host has not confirmed. */
export function waitingRows(read: Queue | undefined, entries: readonly QueueEntry[]): WaitingRows {
  const shown = new Map(read?.prompts.map((prompt) => [prompt.messageId, prompt]));
  const known = read?.version ?? 0;
  const later = entries.filter(({ seq }) => seq > known);
  const before: WaitingPrompt[] = (read?.prompts ?? []).map(({ messageId, turnId, text }) => ({
    messageId,
    turnId,
    text,
    at: "",
  }));
  const waiting = later.reduce<readonly WaitingPrompt[]>(waitingAfter, before);
  const whole = wholeTexts(entries);
  return {
    version: Math.max(known, later.at(-1)?.seq ?? 0),
    rows: waiting.map(({ messageId, text }) => ({
      messageId,
      text: shown.get(messageId)?.isCut ? (whole.get(messageId) ?? text) : text,
      shown: shown.get(messageId),
    })),
  };
}

/** The host shows only the beginning of a long text; the log has more of it. */
function wholeTexts(entries: readonly QueueEntry[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { update } of entries) if ("text" in update) texts.set(update.messageId, update.text);
  return texts;
}

/** Whether the text can be changed: not that of a command, and not one of which only the beginning is known. */
export const isEditable = ({ shown, text }: WaitingRow): boolean =>
  shown?.type === "prompt" && (!shown.isCut || text.length > shown.text.length);

/** The neighbour before which a prompt has to be put, so that it moves by one; undefined if it cannot. */
export function placeBeside(
  rows: readonly WaitingRow[],
  messageId: string,
  by: -1 | 1,
): { beforeMessageId: string | null } | undefined {
  const at = rows.findIndex((row) => row.messageId === messageId);
  const to = at + by;
  if (at === -1 || to < 0 || to >= rows.length) return undefined;
  const before = by === -1 ? rows[to] : rows[to + 1];
  return { beforeMessageId: before?.messageId ?? null };
}
