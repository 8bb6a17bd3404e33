// Updates a database to this version's schema: runs each file of migrations/ once, in order, under one
// lock, so that nodes that start together do not race. A file that was applied is never edited; if its
// text differs from the applied one, the start fails.
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import pg from "pg";

const folder = new URL("../../migrations/", import.meta.url);
const lockKey = 0x4a57_5345; // any number, the same in every node

/** Applies the missing files and returns their names. */
export async function migrate(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "hawser migrate",
  });
  await client.connect();
  try {
    await client.query("SELECT pg_advisory_lock($1)", [lockKey]);
    await client.query(
      `CREATE TABLE IF NOT EXISTS hawser_migrations (
         name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`,
    );
    await client.query("GRANT SELECT ON hawser_migrations TO PUBLIC");
    const known = await client.query<{ name: string; sha256: string }>(
      "SELECT name, sha256 FROM hawser_migrations",
    );
    const applied = new Map(known.rows.map((row) => [row.name, row.sha256]));
    const ran: string[] = [];
    for (const { name, text, sha256 } of await readMigrations()) {
      const before = applied.get(name);
      if (before === sha256) continue;
      if (before !== undefined) {
        throw new Error(
          `Migration ${name} was changed after it was applied. Put it back as it was and write the change as a new file.`,
        );
      }
      await client.query("BEGIN");
      await client.query(text);
      await client.query("INSERT INTO hawser_migrations (name, sha256) VALUES ($1, $2)", [
        name,
        sha256,
      ]);
      await client.query("COMMIT");
      ran.push(name);
    }
    return ran;
  } finally {
    await client.end();
  }
}

/** The files that this version has and the database lacks. A node does not start before they are applied. */
export async function pendingMigrations(databaseUrl: string): Promise<string[]> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "hawser",
    connectionTimeoutMillis: 10_000,
  });
  try {
    await client.connect();
    const known = await client.query<{ name: string }>("SELECT name FROM hawser_migrations");
    const applied = new Set(known.rows.map(({ name }) => name));
    return (await readMigrations()).map(({ name }) => name).filter((name) => !applied.has(name));
  } catch (error) {
    const undefinedTable = "42P01";
    if ((error as { code?: string }).code !== undefinedTable) throw error;
    return (await readMigrations()).map(({ name }) => name);
  } finally {
    await client.end();
  }
}

async function readMigrations() {
  const names = (await readdir(folder)).filter((name) => name.endsWith(".sql")).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(new URL(name, folder), "utf8");
      return { name, text, sha256: createHash("sha256").update(text).digest("hex") };
    }),
  );
}
