// How far a thread of codex was told, in a form that fits into the daemon's journal. Codex keeps the items
// of each turn under the ids it tells them by, so the ids are enough to find what was missed.
import type { TokenCount } from "./protocol.ts";

export interface Cursor {
  /** The turn that runs, or ran last; null before the first. */
  turn: string | null;
  /** Its end was told. */
  isOver: boolean;
  /** Its own items, not its sub-agents', that were told to the end, the latest ones. */
  told: string[];
  /** Tool calls whose start was told and whose end was not. */
  open: string[];
  /** Tokens of the thread that were told; null where codex has gone back and not counted since. */
  used: TokenCount | null;
  /** Turns that condensed the history, each with the message of ours that asked for it, the latest ones. */
  condensed: [messageId: string, turnId: string][];
}

export const unused: TokenCount = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
};

/** More than can be on their way at once. */
export const mostTold = 100;

export const mostCondensed = 50;

export function readCursor(text: string | null): Cursor {
  const fresh = { turn: null, isOver: true, told: [], open: [], used: unused, condensed: [] };
  // One that an earlier daemon wrote may lack what came later.
  return text === null ? fresh : { ...fresh, ...(JSON.parse(text) as Cursor) };
}
