import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmptyDatabase } from "@hawser/testkit/database.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
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

test("a file that was changed after it was applied stops the start, and says what to do", async () => {
  await using empty = await createEmptyDatabase();
  await migrate(empty.url);
  await ownerSql(empty.url, "UPDATE hawser_migrations SET sha256 = 'other'");
  await assert.rejects(
    migrate(empty.url),
    /0001-foundation\.sql was changed .* write the change as a new file/,
  );
});
