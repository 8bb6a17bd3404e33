// The cursor of a codex thread: how far its events were reported. Codex stores the items of each turn under
// the ids of its notifications, so the ids are enough to find the items that were missed.
//
// The daemon's journal stores the cursor as JSON: keys must stay readable for older and newer daemons.
import type { TokenCount } from "./protocol.ts";

export interface Cursor {
  /** The running or last turn; null before the first. */
  turn: string | null;
  /** Whether the end of the turn was reported. */
  isOver: boolean;
  /** The latest items of the turn whose end was reported, without those of sub-agents. */
  told: string[];
  /** Tool calls whose start was reported, but not their end. */
  open: string[];
  /** Reported tokens of the thread; null after a revert, until codex counts again. */
  used: TokenCount | null;
  /** The latest turns that condensed the history, each with the message of ours that started it. */
  condensed: [messageId: string, turnId: string][];
}

export const unused: TokenCount = {
  inputTokens: 0,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  outputTokens: 0,
};

/** More items than can be open at once. */
export const maxReported = 100;

export const maxCondensed = 50;

export function readCursor(text: string | null): Cursor {
  const fresh = { turn: null, isOver: true, told: [], open: [], used: unused, condensed: [] };
  // A cursor of an older daemon may lack newer keys.
  return text === null ? fresh : { ...fresh, ...(JSON.parse(text) as Cursor) };
}
