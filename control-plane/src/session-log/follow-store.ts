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

/**
 * The entries of session $2 after seq $3: at most $4 entries, and not much more than $5 bytes. Entries
 * are text, because they are passed on unchanged. They are read one by one, so that entries that do not
 * fit are not decompressed: long repetitive texts are stored in a hundredth of their size.
 */
const selectWithin = (bounds: string) =>
  statement<LogRow>(
    `WITH RECURSIVE page (seq, at, turn_id, update, place, bytes) AS (
     (SELECT seq, at, turn_id, update::text, 1, octet_length(update::text)
        FROM session_log
       WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq > $3
       ORDER BY seq LIMIT 1)
     UNION ALL
     SELECT following.seq, following.at, following.turn_id, following.update, place + 1,
            bytes + octet_length(following.update)
       FROM page
      CROSS JOIN LATERAL (
             SELECT seq, at, turn_id, update::text AS update
               FROM session_log
              WHERE organization_id = $1 AND session_id = $2 ${bounds} AND seq > page.seq
              ORDER BY seq LIMIT 1) following
      WHERE place < $4 AND bytes < $5)
   SELECT seq, at, turn_id, update FROM page ORDER BY seq`,
  );

/**
 * Bounds that contain every id, for sessions of other periods. Without bounds PostgreSQL expects more entries
 * of a session, and on a table without statistics it read and sorted the rest of the session for each entry.
 */
const everyPeriod = {
  first: "00000000-0000-0000-0000-000000000000",
  next: "ffffffff-ffff-ffff-ffff-ffffffffffff",
};
const byPeriod = new Map<string, Statement<LogRow>>();

/**
 * The statement that reads entries of this session. It names the bounds of the session's period, so that
 * its plan contains one partition. Without them a prepared statement locks every partition at each
 * execution, which takes longer than reading a few entries (decision 0045).
 */
export function selectEntriesOf(sessionId: string): Statement<LogRow> {
  const period = periodOf(sessionId) ?? everyPeriod;
  let found = byPeriod.get(period.first);
  if (!found) {
    found = selectWithin(`AND session_id >= '${period.first}' AND session_id < '${period.next}'`);
    byPeriod.set(period.first, found);
  }
  return found;
}
