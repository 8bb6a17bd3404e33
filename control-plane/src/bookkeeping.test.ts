// What nodes note about the use of keys, written by several nodes at the same moment on a real PostgreSQL.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keepBooksTogether } from "@hawser/testkit/bookkeeping.ts";
import { createDatabase } from "@hawser/testkit/database.ts";

test("four nodes that write about the same 1,000 keys, each in its own order, never deadlock", async () => {
  await using database = await createDatabase();
  const load = { nodes: 4, keys: 1_000, rounds: 20 };
  const { writes, failures, ...found } = await keepBooksTogether(database.url, load);
  assert.deepEqual(failures, [], `${failures.length} of ${writes} writes failed`);
  assert.deepEqual(found, { countedReads: 4 * 1_000 * 20, usedKeys: 1_000 });
});
