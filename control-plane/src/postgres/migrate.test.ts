import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { createEmptyDatabase } from "@hawser/testkit/database.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { until } from "@hawser/testkit/until.ts";
import { migrate } from "./migrate.ts";

test("nodes that migrate at once apply each file once, and a later start finds nothing to do", async () => {
  await using empty = await createEmptyDatabase();
  const ran = await Promise.all([migrate(empty.url), migrate(empty.url), migrate(empty.url)]);
  assert.deepEqual(
    ran.flat(),
    ran.find((files) => files.length > 0),
  );
  assert.deepEqual(await migrate(empty.url), []);
});

test("a file that was changed after it was applied is refused before any file is applied", async () => {
  await using boats = await openBoats();
  boats.write("2-applied.sql", "SELECT 1");
  await migrate(boats.url, boats.options);
  boats.write("2-applied.sql", "SELECT 2");
  boats.write(...column);
  await assert.rejects(
    migrate(boats.url, boats.options),
    /2-applied\.sql was changed .* Nothing was applied\. .* write the change as a new file/,
  );
  assert.deepEqual(await ownerSql(boats.url, "SELECT name FROM hawser_migrations"), [
    { name: "2-applied.sql" },
  ]);
});

/** A database with a table of boats, and a folder of migrations for it. */
async function openBoats() {
  const parts = new AsyncDisposableStack();
  const { url } = parts.use(await createEmptyDatabase());
  await ownerSql(url, "CREATE TABLE boats AS SELECT 'a boat' AS name FROM generate_series(1, 100)");
  const directory = mkdtempSync(join(tmpdir(), "hawser-migrations-"));
  parts.defer(() => removeDirectory(directory));
  const said: string[] = [];
  return {
    url,
    said,
    write: (name: string, text: string) => writeFileSync(join(directory, name), text),
    options: {
      folder: pathToFileURL(`${directory}/`),
      say: (line: string) => void said.push(line),
    },
    /** A transaction that reads boats and stays open. */
    read: () => holdRow(url, "SELECT count(*) FROM boats"),
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  };
}

/** A migration that waits for a lock without a limit would wait for ever. */
const limit = { timeout: 30_000 };

const column = ["1-column.sql", "ALTER TABLE boats ADD COLUMN length int"] as const;
const index = [
  "2-index.sql",
  `-- hawser: outside a transaction
-- An INDEX CONCURRENTLY does not stop writers.
CREATE INDEX CONCURRENTLY IF NOT EXISTS boats_by_name ON boats (name);
`,
] as const;

test("a file that gets no lock lets others pass, says so, and is tried again", limit, async () => {
  await using boats = await openBoats();
  boats.write(...column);
  const reader = await boats.read();
  const migrated = migrate(boats.url, boats.options);
  await until("two attempts failed", () => Promise.resolve(boats.said.length >= 3), 10_000);
  assert.equal(boats.said[0], "applying 1-column.sql");
  assert.match(
    boats.said[1]!,
    /^1-column\.sql got no lock within 200 ms \(attempt 1 of 60\); trying again in 0\.5 s$/,
  );
  await ownerSql(boats.url, "SET statement_timeout = 5000; SELECT count(*) FROM boats");
  await reader[Symbol.asyncDispose]();
  assert.deepEqual(await migrated, ["1-column.sql"]);
  assert.deepEqual(await ownerSql(boats.url, "SELECT length FROM boats LIMIT 1"), [
    { length: null },
  ]);
});

test(
  "a file that never gets its lock fails with advice, and leaves nothing behind",
  limit,
  async () => {
    await using boats = await openBoats();
    boats.write("1-two.sql", `CREATE TABLE sails (); ${column[1]}`);
    {
      await using _reader = await boats.read();
      await assert.rejects(
        migrate(boats.url, { ...boats.options, trying: { lockMs: 50, attempts: 2 } }),
        /1-two\.sql got no lock in 2 attempts of 50 ms.* Look for long transactions/,
      );
    }
    assert.deepEqual(await migrate(boats.url, boats.options), ["1-two.sql"]);
  },
);

test("an index that was cut off is made again, by one of several processes", limit, async () => {
  await using boats = await openBoats();
  boats.write(...index);
  const isValid = async () => {
    const [row] = await ownerSql<{ valid: boolean }>(
      boats.url,
      "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('boats_by_name')",
    );
    return row?.valid;
  };
  {
    // The creation of an index waits for transactions that write to its table.
    await using _writer = await holdRow(boats.url, "UPDATE boats SET name = 'b' WHERE false");
    const migrated = assert.rejects(migrate(boats.url, boats.options), /terminat/);
    await until("the index exists", async () => (await isValid()) === false, 10_000);
    await ownerSql(
      boats.url,
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE application_name = 'hawser migrate' AND datname = current_database()`,
    );
    await migrated;
  }
  assert.equal(await isValid(), false);
  const ran = await Promise.all([
    migrate(boats.url, boats.options),
    migrate(boats.url, boats.options),
  ]);
  assert.deepEqual(ran.flat(), ["2-index.sql"]);
  assert.equal(await isValid(), true);
});

test("an index that was finished but not recorded stays", async () => {
  await using boats = await openBoats();
  boats.write(...index);
  await ownerSql(boats.url, "CREATE INDEX boats_by_name ON boats (name)");
  const oid = () => ownerSql(boats.url, "SELECT 'boats_by_name'::regclass::oid");
  const before = await oid();
  assert.deepEqual(await migrate(boats.url, boats.options), ["2-index.sql"]);
  assert.deepEqual(await oid(), before);
});

test("an index file that could not be repeated is refused", async () => {
  await using boats = await openBoats();
  boats.write(index[0], index[1].replace("IF NOT EXISTS ", ""));
  await assert.rejects(
    migrate(boats.url, boats.options),
    /2-index\.sql cannot be run again after an interruption/,
  );
});
