// The cursor of an opencode session: how far its events were reported. opencode numbers the stored events
// of each of its sessions, so one number per session (the root's and each sub-agent's) is enough to find
// the events that were missed. On resume, events of the running turn before the cursor are read again from
// the start of the turn, without being reported, to restore the tracker's state.
//
// The daemon's journal stores the cursor as JSON: keys must stay readable for older and newer daemons.

export interface Cursor {
  /** Number of the last reported event, by session of opencode. */
  told: Record<string, number>;
  /** How many AgentEvents of the following number were reported, if that number causes several. */
  part?: Record<string, number>;
  /** Number of the last event before the running turn, by session; the last event if no turn runs. */
  from: Record<string, number>;
  /** Id of the event that started the turn. Sub-agents created before it belong to earlier turns. */
  fromId: string;
  /** opencode's id of the prompt whose turn runs. */
  turn: string | null;
}

export function readCursor(text: string | null): Cursor {
  if (text === null) return { told: {}, from: {}, fromId: "", turn: null };
  return JSON.parse(text) as Cursor;
}
