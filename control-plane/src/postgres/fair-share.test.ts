// Connections for callers are divided among organizations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseId } from "@hawser/contract";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import { createFairShare } from "./fair-share.ts";
import { statement } from "./statement.ts";

const addInstance = statement(`INSERT INTO instances (organization_id, name) VALUES ($1, 'a')`);
const rename = statement(`UPDATE instances SET name = 'b' WHERE organization_id = $1`);
const count = statement<{ n: number }>(`SELECT count(*)::int AS n FROM instances`);

test("statements of one organization that wait for a lock leave connections to another", async () => {
  await using service = await openServiceDatabase({ connections: 4, patienceMs: 8_000 });
  const { database, url } = service;
  const make = async (name: string) => {
    const made = await createTestOrganization(database, name, `${name}@x.example`);
    return parseId("organization", made.organizationId)!;
  };
  const [acme, globex] = [await make("acme"), await make("globex")];
  await database.tenant(acme).rows(addInstance, acme);
  let ended = 0;
  let renames: Promise<unknown>[];
  {
    await using _held = await holdRow(url, "SELECT FROM instances FOR UPDATE");
    renames = Array.from({ length: 10 }, async () => {
      await database.tenant(acme).rows(rename, acme);
      ended += 1;
    });
    await until("renames wait", async () => (await waitingStatements(url)) >= 2);
    assert.deepEqual(await database.tenant(globex).rows(count), [{ n: 0 }]);
    assert.equal(ended, 0);
  }
  await Promise.all(renames);
});

test("a place that becomes free goes to the first organization that may have it", async () => {
  const share = createFairShare(4, 10_000);
  const order: string[] = [];
  const enter = async (name: string) => {
    const leave = await share.enter(name);
    order.push(name);
    return leave;
  };
  const first = [await enter("a"), await enter("a")];
  const third = enter("a");
  const others = [await enter("b"), await enter("c")];
  const next = enter("d");
  first[0]!();
  others.push(await next);
  assert.deepEqual(order, ["a", "a", "b", "c", "d"]);
  for (const leave of [first[1]!, ...others]) leave();
  (await third)();
  assert.equal(order.at(-1), "a");
});

test("an organization that waits for too long is refused", async () => {
  const share = createFairShare(2, 10);
  const leave = await share.enter("a");
  await assert.rejects(share.enter("a"), /in use for too long/);
  leave();
  (await share.enter("a"))();
});

test("an installation with one connection uses it", async () => {
  const share = createFairShare(1, 1_000);
  const leave = await share.enter("a");
  const next = share.enter("b");
  leave();
  (await next)();
});
