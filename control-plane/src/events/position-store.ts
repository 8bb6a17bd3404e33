// The SQL of the positions that nodes have reached with their notices.
import { systemStatement } from "../postgres/statement.ts";

/**
 * $1 this node, $2 organizations, $3 the number of the last notice about each, $4 how many milliseconds ago it
 * was sent. No other node writes these rows.
 */
export const writePositions = systemStatement(
  "write which notices a node has sent",
  `INSERT INTO notice_positions (organization_id, node_id, number, sent_at)
   SELECT sent.organization_id, $1::uuid, sent.number,
          hawser_now() - make_interval(secs => sent.ago_ms / 1000)
     FROM unnest($2::uuid[], $3::bigint[], $4::float8[]) AS sent (organization_id, number, ago_ms)
   ON CONFLICT (organization_id, node_id)
     DO UPDATE SET number = excluded.number, sent_at = excluded.sent_at`,
);

/** $1 organizations. */
export const selectPositions = systemStatement<{
  organization_id: string;
  node_id: string;
  number: number;
  sent_ago_ms: number;
}>(
  "read which notices nodes have sent about watched organizations",
  `SELECT organization_id, node_id, number,
          (extract(epoch FROM hawser_now() - sent_at) * 1000)::bigint AS sent_ago_ms
     FROM notice_positions
    WHERE organization_id = ANY ($1::uuid[])`,
);

/** Removes some at a time. Every node with viewers has compared them long before. */
export const deleteOldPositions = systemStatement<{ node_id: string }>(
  "remove old positions of notices",
  `DELETE FROM notice_positions
    WHERE sent_at < hawser_now() - interval '10 minutes' AND (organization_id, node_id) IN (
          SELECT organization_id, node_id FROM notice_positions
           WHERE sent_at < hawser_now() - interval '10 minutes' LIMIT 1000)
   RETURNING node_id`,
);
