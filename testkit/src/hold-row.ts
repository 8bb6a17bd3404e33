// Locks a row from another connection, so that a call waits in the middle of its transaction until the
// test releases the lock.
import pg from "pg";

export async function holdRow(
  databaseUrl: string,
  selectForUpdate: string,
): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query("BEGIN");
  await client.query(selectForUpdate);
  return {
    async [Symbol.asyncDispose]() {
      await client.query("ROLLBACK");
      await client.end();
    },
  };
}

/** How many statements wait for a lock right now. */
export async function waitingStatements(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ waiting: number }>(
      `SELECT count(*)::int AS waiting FROM pg_stat_activity
        WHERE wait_event_type = 'Lock' AND datname = current_database()`,
    );
    return rows[0]!.waiting;
  } finally {
    await client.end();
  }
}
