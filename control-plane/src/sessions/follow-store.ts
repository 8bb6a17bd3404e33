// The SQL of following logs.
import { statement, systemStatement } from "../postgres/statement.ts";
import type { LogRow } from "./follow.ts";

/** $1 organizations, $2 sessions; nothing for one that is gone. */
export const selectFollowed = systemStatement<{ session_id: string; applied_seq: number }>(
  "compare how far followed sessions' logs are",
  `SELECT s.session_id, s.applied_seq
     FROM unnest($1::uuid[], $2::uuid[]) AS followed (organization_id, session_id)
     JOIN sessions s ON s.organization_id = followed.organization_id AND s.session_id = followed.session_id
    WHERE s.deleted_at IS NULL`,
);

/**
 * The entries of session $2 after seq $3, at most $4 of them and not much more than $5 bytes, as they
 * lie on the disk. As text: they are handed on as they are.
 */
export const selectEntries = statement<LogRow>(
  `SELECT seq, at, turn_id, update::text AS update
     FROM (SELECT seq, at, turn_id, update,
                  sum(pg_column_size(update)) OVER (ORDER BY seq) - pg_column_size(update) AS before
             FROM session_log
            WHERE organization_id = $1 AND session_id = $2 AND seq > $3
            ORDER BY seq LIMIT $4) page
    WHERE before < $5
    ORDER BY seq`,
);
