// The SQL of the daily quota of log bytes.
import { systemStatement } from "../postgres/statement.ts";

const today = "(hawser_now() AT TIME ZONE 'UTC')::date";

/**
 * SQL for the bytes that an organization may still store today; zero or less if its quota is used up.
 * `organizationId` is a column or a parameter.
 */
export const logBytesLeftSql = (organizationId: string) =>
  `(SELECT o.log_bytes_per_day - coalesce(
             (SELECT used.bytes FROM log_quotas used
               WHERE used.organization_id = o.organization_id AND used.day = ${today}), 0)
      FROM organizations o WHERE o.organization_id = ${organizationId})`;

/** $1 organizations, $2 bytes of each. Locks in the order of ids, so that two nodes cannot deadlock. */
export const addLogBytes = systemStatement(
  "add stored log bytes to their organization's day",
  `INSERT INTO log_quotas AS used (organization_id, day, bytes)
   SELECT organization_id, ${today}, bytes
     FROM unnest($1::uuid[], $2::bigint[]) AS counted (organization_id, bytes)
    ORDER BY organization_id
   ON CONFLICT (organization_id) DO UPDATE
      SET day = excluded.day,
          bytes = CASE WHEN used.day = excluded.day THEN used.bytes ELSE 0 END + excluded.bytes`,
);
