// How far a session of opencode was told, in a form that fits into the daemon's journal. opencode numbers
// what it keeps of each session, so a number per session (the root's and its sub-agents') is enough to
// find what was missed. What the running turn has said before is read again in silence, from its start.

export interface Cursor {
  /** The last number told, per session of opencode. */
  told: Record<string, number>;
  /** Of the number after it, how many of its events are told, when it has several. */
  part?: Record<string, number>;
  /** The last number before the running turn, or before now when none runs. */
  from: Record<string, number>;
  /** The id of the event at which the turn began: a sub-agent made earlier is not of this turn. */
  fromId: string;
  /** The prompt's id at opencode, while its turn runs. */
  turn: string | null;
}

export function readCursor(text: string | null): Cursor {
  if (text === null) return { told: {}, from: {}, fromId: "", turn: null };
  return JSON.parse(text) as Cursor;
}
