// The SQL of following session logs.
import { statement, systemStatement } from "../postgres/statement.ts";

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
}>(
  "read how far followed session logs are applied",
  `SELECT s.organization_id, s.session_id, s.applied_seq
     FROM unnest($1::uuid[], $2::uuid[]) AS followed (organization_id, session_id)
     JOIN sessions s ON s.organization_id = followed.organization_id AND s.session_id = followed.session_id
    WHERE s.deleted_at IS NULL`,
);

/**
 * The entries of session $2 after seq $3: at most $4 entries, and not much more than $5 bytes. Entries
 * are text, because they are passed on unchanged. They are read one by one, so that entries that do not
 * fit are not decompressed: long repetitive texts are stored in a hundredth of their size.
 */
export const selectEntries = statement<LogRow>(
  `WITH RECURSIVE page (seq, at, turn_id, update, place, bytes) AS (
     (SELECT seq, at, turn_id, update::text, 1, octet_length(update::text)
        FROM session_log
       WHERE organization_id = $1 AND session_id = $2 AND seq > $3
       ORDER BY seq LIMIT 1)
     UNION ALL
     SELECT following.seq, following.at, following.turn_id, following.update, place + 1,
            bytes + octet_length(following.update)
       FROM page
      CROSS JOIN LATERAL (
             SELECT seq, at, turn_id, update::text AS update
               FROM session_log
              WHERE organization_id = $1 AND session_id = $2 AND seq > page.seq
              ORDER BY seq LIMIT 1) following
      WHERE place < $4 AND bytes < $5)
   SELECT seq, at, turn_id, update FROM page ORDER BY seq`,
);
