// The SQL of how far people have read sessions.
import { statement } from "../postgres/statement.ts";

/** $3 user, $4 how far they have read. No row if there is no such session, or if the user is no member any more. */
export const putRead = statement<{ seq: number }>(
  `INSERT INTO session_reads AS known (organization_id, user_id, session_id, seq)
   SELECT s.organization_id, m.user_id, s.session_id, least($4::bigint, s.applied_seq)
     FROM sessions s JOIN memberships m ON m.organization_id = s.organization_id AND m.user_id = $3
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL
      FOR KEY SHARE OF m
   ON CONFLICT (organization_id, user_id, session_id) DO UPDATE SET seq = greatest(known.seq, excluded.seq)
   RETURNING seq`,
);
