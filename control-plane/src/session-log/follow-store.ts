// The SQL of following session logs.
import { statement, systemStatement, type Statement } from "../postgres/statement.ts";
import { recordVersionSql } from "../sessions/store.ts";
import { periodOf } from "./log-period.ts";

/** One entry of a session's log. */
export interface LogRow {
  seq: number;
  at: string;
  turn_id: string | null;
  /** JSON text. */
  update: string;
}

/** $1 organizations, $2 sessions. No row for a deleted session. */
export const selectFollowed = systemStatement<{
  organization_id: string;
  session_id: string;
  applied_seq: number;
  record_version: string;
}>(
  "read how far followed session logs are applied, and the versions of their records",
  `SELECT s.organization_id, s.session_id, s.applied_seq, ${recordVersionSql} AS record_version
     FROM unnest($1::uuid[], $2::uuid[]) AS followed (organization_id, session_id)
     JOIN sessions s ON s.organization_id = followed.organization_id AND s.session_id = followed.session_id
    WHERE s.deleted_at IS NULL`,
);

/** The order of a page's entries, and the conditions on them beside the session and the position. */
interface PageKind {
  order: "ASC" | "DESC";
  filters: string;
}

/** All entries, the oldest first. */
const everyEntry: PageKind = { order: "ASC", filters: "" };
/** Only entries up to seq $6, of turn $7 if it is set, and of the types $8 if they are set. */
const filters = `AND seq <= $6 AND ($7::text IS NULL OR turn_id = $7)
               AND ($8::text[] IS NULL OR coalesce(entry_type, update->>'sessionUpdate') = ANY ($8))`;

/**
 * The entries of session $2 after seq $3: at most $4 entries, and not much more than $5 bytes. In descending
 * order these are the newest ones. Entries are text, because they are passed on unchanged. They are read one
 * by one, so that entries that do not fit are not decompressed: long repetitive texts are stored in a
 * hundredth of their size.
 */
const selectWithin = (bounds: string, { order, filters }: PageKind) => {
  const next = (position: string) => `
             SELECT seq, at, turn_id, update::text AS update
               FROM session_log
              WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq > $3 ${position} ${filters}
              ORDER BY seq ${order} LIMIT 1`;
  return statement<LogRow>(
    `WITH RECURSIVE page (seq, at, turn_id, update, place, bytes) AS (
     SELECT seq, at, turn_id, update, 1, octet_length(update) FROM (${next("")}) first
     UNION ALL
     SELECT following.seq, following.at, following.turn_id, following.update, place + 1,
            bytes + octet_length(following.update)
       FROM page
      CROSS JOIN LATERAL (${next(order === "ASC" ? "AND seq > page.seq" : "AND seq < page.seq")}) following
      WHERE place < $4 AND bytes < $5)
   SELECT seq, at, turn_id, update FROM page ORDER BY seq`,
  );
};

/** $3 after this seq, $4 up to this one, $5 turn. What the agent itself said last; at most $6 characters. */
const selectMessageWithin = (bounds: string) =>
  statement<{ seq: number; text: string; length: number }>(
    `SELECT seq, left(text, $6) AS text, length(text) AS length
       FROM (SELECT seq, update->'content'->>'text' AS text
               FROM session_log
              WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq > $3 AND seq <= $4 AND turn_id = $5
                AND coalesce(entry_type, update->>'sessionUpdate') = 'agent_message_chunk'
                AND update->>'parentToolCallId' IS NULL
              ORDER BY seq DESC LIMIT 1) message`,
  );

/** $3 after this seq, $4 up to this one, $5 turn. Why the turn ended as it did; at most $6 characters. */
const selectTurnReasonWithin = (bounds: string) =>
  statement<{ reason: string | null; cause: string | null }>(
    `SELECT left(update->>'reason', $6) AS reason, update->>'cause' AS cause
       FROM session_log
      WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq > $3 AND seq <= $4 AND turn_id = $5
        AND coalesce(entry_type, update->>'sessionUpdate') = 'turn_finished'
      ORDER BY seq DESC LIMIT 1`,
  );

/**
 * Bounds that contain every id, for sessions of other periods. Without bounds PostgreSQL expects more entries
 * of a session, and on a table without statistics it read and sorted the rest of the session for each entry.
 */
const everyPeriod = {
  first: "00000000-0000-0000-0000-000000000000",
  next: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};

/**
 * Makes a function that returns the statement for a session. The statement names the bounds of the session's
 * period, so that its plan contains one partition. Without them a prepared statement locks every partition at
 * each execution, which takes longer than reading a few entries (decision 0045).
 */
export function byPeriod<Row>(make: (bounds: string) => Statement<Row>) {
  const made = new Map<string, Statement<Row>>();
  return (sessionId: string): Statement<Row> => {
    const period = periodOf(sessionId) ?? everyPeriod;
    let found = made.get(period.first);
    if (!found) {
      found = make(`AND session_id >= '${period.first}' AND session_id < '${period.next}'`);
      made.set(period.first, found);
    }
    return found;
  };
}

/** Reads entries in their order. */
export const selectEntriesOf = byPeriod((bounds) => selectWithin(bounds, everyEntry));
/** Reads entries that pass the filters, the oldest of them. */
export const selectMatchingOf = byPeriod((bounds) =>
  selectWithin(bounds, { order: "ASC", filters }),
);
/** Reads entries that pass the filters, the newest of them. */
export const selectNewestOf = byPeriod((bounds) =>
  selectWithin(bounds, { order: "DESC", filters }),
);
/** Reads the last message of a turn. */
export const selectMessageOf = byPeriod(selectMessageWithin);
export const selectTurnReasonOf = byPeriod(selectTurnReasonWithin);
