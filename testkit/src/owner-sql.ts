// Reads and changes a test's database from outside the service, as the owner of the tables.
import pg from "pg";

/** Runs SQL and returns the rows of the last statement. */
export async function ownerSql<Row extends pg.QueryResultRow = Record<string, unknown>>(
  databaseUrl: string,
  text: string,
  values?: unknown[],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const result = await client.query<Row>(text, values);
    return (Array.isArray(result) ? (result as pg.QueryResult<Row>[]).at(-1)! : result).rows;
  } finally {
    await client.end();
  }
}
