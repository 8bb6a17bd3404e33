// The SQL that records when hosts were last seen. Every statement writes its rows in the order of ids, so
// that two nodes cannot deadlock.
import { systemStatement } from "../postgres/statement.ts";

/** SQL of an insert. `rows` selects organization_id, instance_id and seen_at. An earlier time changes nothing. */
export const insertSightings = (rows: string) =>
  `INSERT INTO host_sightings AS known (organization_id, instance_id, last_seen_at)
   SELECT DISTINCT ON (organization_id, instance_id) organization_id, instance_id, seen_at
     FROM (${rows}) AS seen
    ORDER BY organization_id, instance_id, seen_at DESC
   ON CONFLICT (organization_id, instance_id) DO UPDATE SET last_seen_at = excluded.last_seen_at
    WHERE known.last_seen_at < excluded.last_seen_at`;

/** $1 organizations, $2 instances, $3 how many milliseconds ago. */
export const noteSightings = systemStatement(
  "record when hosts were last seen",
  insertSightings(
    `SELECT organization_id, instance_id, hawser_now() - make_interval(secs => ms_ago / 1000) AS seen_at
       FROM unnest($1::uuid[], $2::uuid[], $3::float8[]) AS noted (organization_id, instance_id, ms_ago)`,
  ),
);
