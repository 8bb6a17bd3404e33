// Moves time in a test's own database, by replacing the one function all SQL takes time from.
import { ownerSql } from "./owner-sql.ts";

/** From now on the database's clock is ahead by so many seconds (behind, if negative). */
export async function moveClock(databaseUrl: string, aheadSeconds: number): Promise<void> {
  await ownerSql(
    databaseUrl,
    `CREATE OR REPLACE FUNCTION hawser_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
     BEGIN
       RETURN clock_timestamp() + make_interval(secs => ${aheadSeconds});
     END $$`,
  );
}
