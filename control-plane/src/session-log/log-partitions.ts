// The log's partitions, one per week of the sessions' birth, made before their week begins: a whole
// week can then be archived and dropped. What has no partition is kept in a default one, so nothing
// breaks when this is late.
import { systemStatement, type SystemSql } from "../postgres/statement.ts";

const makePartitions = systemStatement<{ week: string; made: boolean }>(
  "make the log's partitions of this week and the next two",
  `SELECT week::text, hawser_make_log_partition(week) AS made
     FROM (SELECT (date_trunc('week', hawser_now() AT TIME ZONE 'UTC'))::date + 7 * ahead AS week
             FROM generate_series(0, 2) AS ahead) weeks`,
);

/**
 * Sees to the partitions of this week and the next two; costs next to nothing when they are there.
 * Answers the first days of those weeks that have none yet, because the log is busy or rows of that
 * week lie in the default partition, where they stay.
 */
export async function ensureLogPartitions(system: SystemSql): Promise<string[]> {
  const weeks = await system.rows(makePartitions);
  return weeks.filter(({ made }) => !made).map(({ week }) => week);
}
