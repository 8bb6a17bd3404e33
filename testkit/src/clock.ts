// Moves the clock of a test's database, by replacing the one function from which all SQL reads the time.
import { ownerSql } from "./owner-sql.ts";

/** Sets the database's clock ahead by this many seconds; behind if negative. */
export async function moveClock(databaseUrl: string, aheadSeconds: number): Promise<void> {
  await ownerSql(
    databaseUrl,
    `CREATE OR REPLACE FUNCTION hawser_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
     BEGIN
       RETURN clock_timestamp() + make_interval(secs => ${aheadSeconds});
     END $$`,
  );
}

/** Stops the database's clock at an instant. */
export async function stopClock(databaseUrl: string, instant: string): Promise<void> {
  await ownerSql(
    databaseUrl,
    `CREATE OR REPLACE FUNCTION hawser_now() RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
     BEGIN
       RETURN '${new Date(instant).toISOString()}'::timestamptz;
     END $$`,
  );
}
