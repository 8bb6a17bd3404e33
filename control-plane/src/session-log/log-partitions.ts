// The partitions of the session log, one per week in which sessions were created. They are created
// before their week begins, so that a whole week can be archived and dropped. Entries without a
// partition are stored in a default one, so nothing breaks if this is late.
import { systemStatement, type SystemSql } from "../postgres/statement.ts";

const makePartitions = systemStatement<{ week: string; made: boolean }>(
  "create the session log's partitions of this week and the next two",
  `SELECT week::text, hawser_make_log_partition(week) AS made
     FROM (SELECT (date_trunc('week', hawser_now() AT TIME ZONE 'UTC'))::date + 7 * ahead AS week
             FROM generate_series(0, 2) AS ahead) weeks`,
);

/**
 * Creates the partitions of this week and the next two if they are missing. Returns the first days of
 * those weeks that still have none, because the log is busy, or because the default partition contains
 * rows of that week, which stay there.
 */
export async function ensureLogPartitions(system: SystemSql): Promise<string[]> {
  const weeks = await system.rows(makePartitions);
  return weeks.filter(({ made }) => !made).map(({ week }) => week);
}
