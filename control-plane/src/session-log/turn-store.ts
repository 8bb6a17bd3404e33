// The SQL of reading a session's log turn by turn.
import type { TurnOutcome } from "@hawser/contract";
import { statement } from "../postgres/statement.ts";
import { byPeriod } from "./follow-store.ts";

/** An entry that says something about a turn. */
export interface TurnEntryRow {
  seq: number;
  at: string;
  turn_id: string | null;
  type: "turn_started" | "turn_finished" | "user_message_chunk" | "usage_update";
  message_id: string | null;
  /** Set for a prompt; at most $5 characters. */
  text: string | null;
  /** The user who sent a prompt. */
  by: string | null;
  outcome: TurnOutcome | null;
  cost_usd: number | null;
}

/** $3 from this seq, $4 before this one. The newest first. */
const selectTurnEntriesWithin = (bounds: string) =>
  statement<TurnEntryRow>(
    `SELECT seq, at, turn_id, type, update->>'messageId' AS message_id,
            left(update->'content'->>'text', $5) AS text, update->>'by' AS by,
            update->>'outcome' AS outcome,
            (update->>'costUsd')::double precision AS cost_usd
       FROM (SELECT *, coalesce(entry_type, update->>'sessionUpdate') AS type FROM session_log
              WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq >= $3 AND seq < $4) entry
      WHERE type IN ('turn_started', 'turn_finished', 'user_message_chunk', 'usage_update')
      ORDER BY seq DESC`,
  );

/** $3 from this seq, $4 before this one, $5 turn. */
const selectTurnEndWithin = (bounds: string) =>
  statement<{ seq: number; outcome: TurnOutcome }>(
    `SELECT seq, update->>'outcome' AS outcome FROM session_log
      WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq >= $3 AND seq < $4 AND turn_id = $5
        AND coalesce(entry_type, update->>'sessionUpdate') = 'turn_finished'
      ORDER BY seq LIMIT 1`,
  );

export const selectTurnEntriesOf = byPeriod(selectTurnEntriesWithin);
export const selectTurnEndOf = byPeriod(selectTurnEndWithin);
