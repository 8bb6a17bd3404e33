// When keys were last used, on a real PostgreSQL: seldom written, and without waiting for other
// transactions.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createKeyUses } from "./key-uses.ts";

let service: ServiceDatabase;
let organizationId: string;

before(async () => {
  service = await openServiceDatabase();
  const acme = await createTestOrganization(service.database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", acme.organizationId)!;
});
after(() => service[Symbol.asyncDispose]());
beforeEach(() => pass(0));

let ahead = 0;
/** Moves the clock of the database and of the nodes to this many seconds ahead. */
async function pass(seconds: number): Promise<void> {
  ahead = seconds;
  await moveClock(service.url, seconds);
}
const now = () => Date.now() + ahead * 1000;

async function addKeys(count: number) {
  const rows = await ownerSql<{ api_key_id: string }>(
    service.url,
    `INSERT INTO api_keys (organization_id, name, secret_hash, permissions)
     SELECT $1, 'key', uuid_send(gen_random_uuid()), '{}' FROM generate_series(1, $2::int)
     RETURNING api_key_id`,
    [organizationId, count],
  );
  return rows.map(({ api_key_id: apiKeyId }) => ({ organizationId, apiKeyId }));
}

/** Tens of seconds since the recorded use, by the database's clock; undefined if none is recorded. */
async function ageOf({ apiKeyId }: { apiKeyId: string }): Promise<number | undefined> {
  const [row] = await ownerSql<{ age: string | null }>(
    service.url,
    `SELECT extract(epoch FROM hawser_now() - last_used_at) AS age FROM api_keys WHERE api_key_id = $1`,
    [apiKeyId],
  );
  return row!.age === null ? undefined : Math.round(Number(row!.age) / 10);
}

test("a key's use is written at once, and then at most every five minutes, on all nodes together", async () => {
  const [key] = await addKeys(1);
  const nodes = [1, 2].map(() => createKeyUses(service.database.system, now));
  const use = async (node: number) => {
    nodes[node]!.note(key!);
    await nodes[node]!.flush();
    return ageOf(key!);
  };
  assert.equal(await use(0), 0);
  await pass(200);
  assert.deepEqual([await use(0), await use(1)], [20, 20]);
  await pass(310);
  assert.equal(await use(0), 0);
  // The second node's five minutes begin with the use that it noted.
  await pass(510);
  assert.equal(await use(1), 20);
});

test("a key that another transaction has locked is skipped, and written next time", async () => {
  const [locked, free] = await addKeys(2);
  const uses = createKeyUses(service.database.system, now);
  {
    await using _held = await holdRow(
      service.url,
      `SELECT FROM api_keys WHERE api_key_id = '${locked!.apiKeyId}' FOR UPDATE`,
    );
    uses.note(locked!);
    uses.note(free!);
    await uses.flush();
  }
  assert.deepEqual([await ageOf(locked!), await ageOf(free!)], [undefined, 0]);
  await uses.flush();
  assert.equal(await ageOf(locked!), 0);
});

test("a use that could not be written is written later", async () => {
  const [key] = await addKeys(1);
  let isAway = true;
  const { system } = service.database;
  const uses = createKeyUses(
    {
      ...system,
      rows: (...query) => (isAway ? Promise.reject(new Error("away")) : system.rows(...query)),
    },
    now,
  );
  uses.note(key!);
  await assert.rejects(uses.flush(), /away/);
  isAway = false;
  await uses.flush();
  assert.equal(await ageOf(key!), 0);
});
