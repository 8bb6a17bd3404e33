// The refusals that a caller gets if the database does not serve the call.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { request } from "@hawser/testkit/caller.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createToyTables, startToyProduct } from "@hawser/testkit/toy-product.ts";

test("a statement that takes too long is not called an unreachable database", async () => {
  await using service = await openServiceDatabase({ patienceMs: 1_000 });
  const { database } = service;
  await createToyTables(service.url);
  const { keys } = await createTestOrganization(database, "Toys", "toy@toys.example");
  await using toy = await startToyProduct({ database, pepper: randomBytes(32) });
  const read = () =>
    request(toy.baseUrl, "/api/rest/actions/read_count", {
      method: "POST",
      headers: { authorization: `Bearer ${keys.owner}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "x" }),
    });
  assert.equal((await read()).status, 404);
  const held = ownerSql(service.url, "BEGIN; LOCK TABLE toy_counts; SELECT pg_sleep(4); COMMIT");
  for (;;) {
    const { status, body } = await read();
    // The lock may not be taken yet.
    if (status === 404) continue;
    assert.equal(status, 503);
    assert.equal(body.error.code, "unavailable");
    assert.match(body.error.message, /did not finish this in time.*ask for less/);
    assert.doesNotMatch(body.error.message, /cannot reach/);
    break;
  }
  await held;
});
