// The SQL of the endings that hosts owe. A row can outlive the record of its session.
import { statement, systemStatement } from "../postgres/statement.ts";
import { movedBySql, statusAfterSql } from "./lifecycle.ts";

/** $2 sessions, $3 their instances. */
export const oweEndings = statement(
  `INSERT INTO owed_endings (organization_id, session_id, instance_id)
   SELECT $1, session_id, instance_id FROM unnest($2::uuid[], $3::uuid[]) AS owed (session_id, instance_id)
   ON CONFLICT (organization_id, session_id) DO UPDATE SET tried_at = hawser_now()`,
);

/** $2 sessions. */
export const settleEndings = statement(
  `DELETE FROM owed_endings WHERE organization_id = $1 AND session_id = ANY ($2::uuid[])`,
);

export const forgetEndingsOfInstance = statement(
  `DELETE FROM owed_endings WHERE organization_id = $1 AND instance_id = $2`,
);

export interface OwedEnding {
  organization_id: string;
  session_id: string;
  instance_id: string;
}

/** $1 instances. */
export const selectOwedBy = systemStatement<OwedEnding>(
  "find the endings owed by hosts that are back",
  `SELECT organization_id, session_id, instance_id FROM owed_endings
    WHERE instance_id = ANY ($1::uuid[]) ORDER BY since`,
);

/** Endings owed by connected hosts that were not asked for a minute. */
export const selectOwedForLong = systemStatement<OwedEnding>(
  "find the endings that connected hosts have owed for a while",
  `SELECT o.organization_id, o.session_id, o.instance_id
     FROM owed_endings o
     JOIN instances i ON i.organization_id = o.organization_id AND i.instance_id = o.instance_id
    WHERE o.tried_at < hawser_now() - interval '1 minute'
      AND i.status = 'online' AND i.deleted_at IS NULL
    ORDER BY o.tried_at LIMIT 100`,
);

export const noteTried = systemStatement(
  "record that a host was asked for an ending it owes",
  `UPDATE owed_endings SET tried_at = hawser_now() WHERE organization_id = $1 AND session_id = $2`,
);

/** No row if the record was deleted or the session has already ended. */
export const endOwed = systemStatement<{ session_id: string }>(
  "end a session whose host has cleaned up",
  `UPDATE sessions
      SET status = ${statusAfterSql("cleaned_up")}, status_reason = NULL, status_message = NULL, activity = 'idle',
          ended_at = coalesce(ended_at, hawser_now())
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
      AND ${movedBySql("cleaned_up")}
   RETURNING session_id`,
);

export const settleEnding = systemStatement(
  "delete an ending that a host no longer owes",
  `DELETE FROM owed_endings WHERE organization_id = $1 AND session_id = $2`,
);

/**
 * Starts that a node left unfinished when it died. If the host did start the session, its log reports
 * that. A clone has no directory until it is complete, and may take half an hour.
 */
export const giveUpStarts = systemStatement<{ organization_id: string; session_id: string }>(
  "show unfinished starts in error",
  `UPDATE sessions
      SET status = ${statusAfterSql("start_unknown")}, status_reason = 'start_unknown', status_message = NULL, activity = 'idle'
    WHERE starting_since < hawser_now() - interval '1 minute'
      AND (directory IS NOT NULL OR starting_since < hawser_now() - interval '31 minutes')
      AND ${movedBySql("start_unknown")}
   RETURNING organization_id, session_id`,
);
