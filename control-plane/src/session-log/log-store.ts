// The SQL that takes hosts' logs in. It crosses organizations, because one transaction holds the
// reports of many hosts; each row it touches is named by organization and instance.
import type { SessionStatus } from "@hawser/contract";
import { systemStatement } from "../postgres/statement.ts";
import { movedBySql, statusAfterSql } from "../sessions/lifecycle.ts";

export interface LockedSession {
  /** Which of the sessions asked for it is: 1, 2, 3 … */
  place: number;
  applied_seq: number;
  journal_id: string | null;
  status: SessionStatus;
}

/**
 * $1 organizations, $2 instances, $3 sessions; gives those that are the instance's own. In the order
 * of ids, so that two transactions that want the same sessions wait for each other and never in a
 * circle. Looked up one by one and by the primary key alone: a join is planned from statistics, and
 * on a table without any it compared every session with every one asked for; and of the indexes that
 * begin like the key, one that is no help was taken when the other conditions were allowed to choose.
 */
export const lockSessions = systemStatement<LockedSession>(
  "lock the sessions that hosts tell of, each the host's own",
  `SELECT asked.place, s.applied_seq, s.journal_id, s.status
     FROM (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[])
             WITH ORDINALITY AS listed (organization_id, instance_id, session_id, place)
            ORDER BY session_id) asked
    CROSS JOIN LATERAL (
           SELECT instance_id, applied_seq, journal_id, status, deleted_at FROM sessions
            WHERE organization_id = asked.organization_id AND session_id = asked.session_id
            LIMIT 1
              FOR NO KEY UPDATE) s
    WHERE s.instance_id = asked.instance_id AND s.deleted_at IS NULL`,
);

/**
 * An empty turn id stands for none. The updates come as one JSON array, which is quicker than an
 * array of SQL: there every quotation mark of every update is escaped once more.
 */
export const insertEntries = systemStatement(
  "write entries of sessions' logs",
  `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, update)
   SELECT session_id, seq, organization_id, at, nullif(turn_id, ''), update
     FROM ROWS FROM (
            unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[]),
            jsonb_array_elements($6::jsonb)
          ) AS entry (session_id, seq, organization_id, at, turn_id, update)`,
);

export const moveApplied = systemStatement(
  "move how far sessions' logs are applied",
  `UPDATE sessions s SET applied_seq = moved.applied_seq, journal_id = moved.journal_id
     FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[])
       AS moved (organization_id, session_id, applied_seq, journal_id)
    WHERE s.organization_id = moved.organization_id AND s.session_id = moved.session_id`,
);

/** $1 organizations, $2 sessions, $3 journals; of two that say hello at once the later counts. */
export const setJournals = systemStatement(
  "note the journals that sessions' logs go on from",
  `UPDATE sessions s SET journal_id = said.journal_id
     FROM (SELECT DISTINCT ON (session_id) *
             FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY
               AS listed (organization_id, session_id, journal_id, place)
            ORDER BY session_id, place DESC) said
    WHERE s.organization_id = said.organization_id AND s.session_id = said.session_id`,
);

/**
 * What a session notes instead of its journal when that is gone: reports of it that are still under way
 * are refused, and it is known again should it come back.
 */
export const goneJournal = (journalId: string) => `gone ${journalId}`;

/** $1 organizations, $2 instances, $3 the journal that each has now. */
export const selectOfOtherJournals = systemStatement<{ place: number; session_id: string }>(
  "find the open sessions of hosts that are of another journal",
  `SELECT said.place, s.session_id
     FROM unnest($1::uuid[], $2::uuid[], $3::text[])
       WITH ORDINALITY AS said (organization_id, instance_id, journal_id, place)
    CROSS JOIN LATERAL (
           SELECT session_id FROM sessions
            WHERE organization_id = said.organization_id AND instance_id = said.instance_id
              AND deleted_at IS NULL
              AND ${movedBySql("journal_lost")}
              AND journal_id <> said.journal_id AND NOT starts_with(journal_id, '${goneJournal("")}')) s`,
);

/** $1 organizations, $2 sessions, which are locked, $3 why. */
export const failOfLostJournals = systemStatement(
  "show sessions in error whose journal is gone",
  `UPDATE sessions s
      SET status = ${statusAfterSql("journal_lost", "s.status")}, status_reason = $3, activity = 'idle', queued_turns = '{}',
          journal_id = '${goneJournal("")}' || s.journal_id
     FROM unnest($1::uuid[], $2::uuid[]) AS lost (organization_id, session_id)
    WHERE s.organization_id = lost.organization_id AND s.session_id = lost.session_id
      AND ${movedBySql("journal_lost", "s.status")}
      AND NOT starts_with(s.journal_id, '${goneJournal("")}')`,
);
