// The partitions of the tables that only grow: session logs, the audit trail, idempotency rows. Each
// contains one period of its table. Partitions are created before their period begins, and an expired
// period is dropped as a whole. Rows without a partition are stored in a default one, so no write fails
// if a partition is late (decision 0045).
import { systemStatement, type SystemSql } from "./statement.ts";

/** A period of a partitioned table, by its first day. */
export interface Period {
  partitioned: string;
  first_day: string;
}

/** SQL of the current period of each table and the next ones: partitioned, first_day. */
const nearPeriods = (next: number) =>
  `unnest(ARRAY['audit_entries', 'audit_reads', 'idempotency', 'session_log']) AS partitioned
    CROSS JOIN generate_series(0, ${next}) AS ahead
    CROSS JOIN LATERAL (
           SELECT hawser_period_start(partitioned, (hawser_now() AT TIME ZONE 'UTC')::date)
                  + ahead * hawser_period_days(partitioned) AS first_day) AS period`;

const makePartitions = systemStatement<Period & { made: boolean }>(
  "create the partitions of this period and the next two",
  `SELECT partitioned, first_day::text, hawser_make_partition(partitioned, first_day) AS made
     FROM ${nearPeriods(2)}`,
);

/** For how long the rows of a table have a partition. */
export interface PartitionLead {
  partitioned: string;
  seconds: number;
}

/** No partition is made for the fourth period from now, so each table has a row. */
const selectLeads = systemStatement<PartitionLead>(
  "read for how long there are partitions",
  `SELECT partitioned,
          greatest(0, extract(epoch FROM min(first_day)::timestamp AT TIME ZONE 'UTC' - hawser_now()))::float8
            AS seconds
     FROM ${nearPeriods(4)}
    WHERE to_regclass('public.' || hawser_partition_name(partitioned, first_day)) IS NULL
    GROUP BY partitioned ORDER BY partitioned`,
);

const selectExpired = systemStatement<Period>(
  "find the partitions of expired periods",
  `SELECT partitioned, first_day::text
     FROM (SELECT parent.relname::text AS partitioned, to_date(right(child.relname, 8), 'YYYYMMDD') AS first_day
             FROM pg_inherits
             JOIN pg_class parent ON parent.oid = inhparent AND parent.relkind = 'p'
             JOIN pg_class child ON child.oid = inhrelid AND child.relname ~ '_[0-9]{8}$'
            WHERE parent.relnamespace = 'public'::regnamespace) AS partitions
    WHERE hawser_partition_expired(partitioned, first_day)
    ORDER BY partitioned, first_day`,
);

const dropPartition = systemStatement<{ dropped: boolean }>(
  "drop the partition of an expired period",
  `SELECT hawser_drop_partition($1, $2::date) AS dropped`,
);

/**
 * Creates the partitions of the current periods and the next two if they are missing. Returns the periods
 * that still have none, because their table is busy, or because the default partition contains rows of
 * the period, which stay there.
 */
export async function makeNextPartitions(system: SystemSql): Promise<Period[]> {
  const periods = await system.rows(makePartitions);
  return periods.flatMap(({ made, ...period }) => (made ? [] : [period]));
}

/** The time until the first period without a partition; 0 if the current period has none. */
export function readPartitionLeads(system: SystemSql): Promise<PartitionLead[]> {
  return system.rows(selectLeads);
}

/**
 * Drops the partitions of expired periods and returns their periods. A partition whose table is busy is
 * kept until the next call. Each is dropped in its own transaction, because the lock lasts until its end.
 */
export async function dropExpiredPartitions(system: SystemSql): Promise<Period[]> {
  const dropped: Period[] = [];
  for (const period of await system.rows(selectExpired)) {
    const done = await system.first(dropPartition, period.partitioned, period.first_day);
    if (done?.dropped) dropped.push(period);
  }
  return dropped;
}
