// The SQL that stores hosts' session logs. Its statements run across organizations, because one
// transaction contains the reports of many hosts; each row is addressed by organization and instance.
import type { SessionStatus } from "@hawser/contract";
import { systemStatement } from "../postgres/statement.ts";
import { movedBySql, statusAfterSql } from "../sessions/lifecycle.ts";

export interface LockedSession {
  /** The position in the list of requested sessions, from 1. */
  position: number;
  applied_seq: number;
  journal_id: string | null;
  status: SessionStatus;
}

/**
 * $1 organizations, $2 instances, $3 sessions. Returns the sessions that belong to the instance. Locks
 * in the order of ids, so that two transactions that lock the same sessions cannot deadlock. Each
 * session is looked up by the primary key alone: a join is planned from statistics, and on a table
 * without statistics it compared every session with every requested one. With more conditions,
 * PostgreSQL chose an index that did not help.
 */
export const lockSessions = systemStatement<LockedSession>(
  "lock the sessions that hosts report on, each the host's own",
  `SELECT asked.position, s.applied_seq, s.journal_id, s.status
     FROM (SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::uuid[])
             WITH ORDINALITY AS listed (organization_id, instance_id, session_id, position)
            ORDER BY session_id) asked
    CROSS JOIN LATERAL (
           SELECT instance_id, applied_seq, journal_id, status, deleted_at FROM sessions
            WHERE organization_id = asked.organization_id AND session_id = asked.session_id
            LIMIT 1
              FOR NO KEY UPDATE) s
    WHERE s.instance_id = asked.instance_id AND s.deleted_at IS NULL`,
);

/**
 * An empty turn id stands for none. The updates are one JSON array, which is faster than an SQL array,
 * where every quotation mark is escaped once more.
 */
export const insertEntries = systemStatement(
  "write entries of session logs",
  `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, entry_type, update)
   SELECT session_id, seq, organization_id, at, nullif(turn_id, ''), update->>'sessionUpdate', update
     FROM ROWS FROM (
            unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::timestamptz[], $5::text[]),
            jsonb_array_elements($6::jsonb)
          ) AS entry (session_id, seq, organization_id, at, turn_id, update)`,
);

export const moveApplied = systemStatement(
  "set how far session logs are applied",
  `UPDATE sessions s SET applied_seq = moved.applied_seq, journal_id = moved.journal_id
     FROM unnest($1::uuid[], $2::uuid[], $3::bigint[], $4::text[])
       AS moved (organization_id, session_id, applied_seq, journal_id)
    WHERE s.organization_id = moved.organization_id AND s.session_id = moved.session_id`,
);

/** $1 organizations, $2 sessions, $3 journals. If two hellos name one session, the later one counts. */
export const setJournals = systemStatement(
  "record the journals that session logs continue from",
  `UPDATE sessions s SET journal_id = received.journal_id
     FROM (SELECT DISTINCT ON (session_id) *
             FROM unnest($1::uuid[], $2::uuid[], $3::text[]) WITH ORDINALITY
               AS listed (organization_id, session_id, journal_id, position)
            ORDER BY session_id, position DESC) received
    WHERE s.organization_id = received.organization_id AND s.session_id = received.session_id`,
);

/**
 * The value that a session stores instead of its journal when that journal is lost. Late reports of the
 * journal are refused, and the journal is recognized if it comes back.
 */
export const lostJournal = (journalId: string) => `gone ${journalId}`;

/** $1 organizations, $2 instances, $3 the current journal of each. */
export const selectOfOtherJournals = systemStatement<{ position: number; session_id: string }>(
  "find the sessions of hosts that belong to another journal",
  `SELECT received.position, s.session_id
     FROM unnest($1::uuid[], $2::uuid[], $3::text[])
       WITH ORDINALITY AS received (organization_id, instance_id, journal_id, position)
    CROSS JOIN LATERAL (
           SELECT session_id FROM sessions
            WHERE organization_id = received.organization_id AND instance_id = received.instance_id
              AND deleted_at IS NULL
              AND ${movedBySql("journal_lost")}
              AND journal_id <> received.journal_id AND NOT starts_with(journal_id, '${lostJournal("")}')) s`,
);

/** $1 organizations, $2 locked sessions. */
export const failOfLostJournals = systemStatement(
  "show sessions in error whose journal is lost",
  `UPDATE sessions s
      SET status = ${statusAfterSql("journal_lost", "s.status")}, status_reason = 'journal_lost', status_message = NULL,
          activity = 'idle', queued_turns = '{}', running_shells = '{}',
          journal_id = '${lostJournal("")}' || s.journal_id
     FROM unnest($1::uuid[], $2::uuid[]) AS lost (organization_id, session_id)
    WHERE s.organization_id = lost.organization_id AND s.session_id = lost.session_id
      AND ${movedBySql("journal_lost", "s.status")}
      AND NOT starts_with(s.journal_id, '${lostJournal("")}')`,
);
