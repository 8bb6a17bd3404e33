// One effect and one outcome, whichever node the retries reach and whichever node dies. The toy product
// counts, so a number shows how often something happened.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { randomBytes } from "node:crypto";
import { Refusal } from "@hawser/contract";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { request, type Reply, refusalText } from "@hawser/testkit/caller.ts";
import { moveClock } from "@hawser/testkit/clock.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { until } from "@hawser/testkit/until.ts";
import { createToyTables, startToyProduct, type ToyProduct } from "@hawser/testkit/toy-product.ts";
import { openDatabase, type Database } from "../postgres/database.ts";
import { makeNextPartitions } from "../postgres/partitions.ts";

let service: ServiceDatabase;
let database: Database;
let key: string;
const pepper = randomBytes(32);

before(async () => {
  service = await openServiceDatabase({ connections: 20 });
  ({ database } = service);
  await createToyTables(service.url);
  await makeNextPartitions(database.system);
  key = (await createTestOrganization(database, "Toys", "toy@toys.example")).keys.owner;
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

function call(
  toy: ToyProduct,
  action: string,
  input: object,
  idempotencyKey?: string,
): Promise<Reply> {
  return request(toy.baseUrl, `/api/rest/actions/${action}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${key}`,
      "content-type": "application/json",
      ...(idempotencyKey && { "idempotency-key": idempotencyKey }),
    },
    body: JSON.stringify(input),
  });
}

const countOf = async (toy: ToyProduct, name: string) =>
  (await call(toy, "read_count", { name })).body.result?.count;

test("a hundred concurrent retries over two nodes take effect once and get one answer", async () => {
  await using one = await startToyProduct({ database, pepper });
  await using two = await startToyProduct({ database, pepper });
  const replies = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      call(i % 2 ? one : two, "add_one", { name: "many" }, "same-key"),
    ),
  );
  assert.deepEqual(
    new Set(replies.map(({ text }) => text)),
    new Set(['{"result":{"name":"many","count":1}}']),
  );
  assert.equal(await countOf(one, "many"), 1);
});

test("without a key every call takes effect", async () => {
  await using toy = await startToyProduct({ database, pepper });
  await call(toy, "add_one", { name: "each" });
  await call(toy, "add_one", { name: "each" });
  assert.equal(await countOf(toy, "each"), 2);
});

test("the same key with another body is refused, and the order of fields does not matter", async () => {
  await using toy = await startToyProduct({ database, pepper });
  await call(toy, "add_one", { name: "body", fail: false }, "body-key");
  const reordered = await call(toy, "add_one", { fail: false, name: "body" }, "body-key");
  assert.equal(reordered.status, 200);
  const other = await call(toy, "add_one", { name: "other" }, "body-key");
  assert.equal(other.status, 409);
  assert.equal(other.body.error.code, "idempotency_mismatch");
  assert.equal(await countOf(toy, "body"), 1);
});

test("a refusal undoes the effect and is what every retry gets", async () => {
  await using toy = await startToyProduct({ database, pepper });
  const first = await call(
    toy,
    "add_one",
    { name: "refused", refuse: "queue_full" },
    "refusal-key",
  );
  const again = await call(
    toy,
    "add_one",
    { name: "refused", refuse: "queue_full" },
    "refusal-key",
  );
  assert.equal(first.status, 409);
  assert.equal(first.body.error.code, "queue_full");
  assert.equal(refusalText(again), refusalText(first));
  assert.equal((await call(toy, "read_count", { name: "refused" })).status, 404);
});

test("a fault undoes the effect and is not kept: a retry carries the call out", async () => {
  await using toy = await startToyProduct({ database, pepper });
  const failed = await call(toy, "add_one", { name: "fault", fail: true }, "fault-key");
  assert.equal(failed.status, 500);
  assert.match(failed.body.error.incidentId as string, /^[0-9a-f-]{36}$/);
  const again = await call(toy, "add_one", { name: "fault", fail: true }, "fault-key");
  assert.equal(again.status, 500);
  assert.equal((await call(toy, "read_count", { name: "fault" })).status, 404);
});

test("a key that is not visible ASCII is refused", async () => {
  await using toy = await startToyProduct({ database, pepper });
  for (const bad of ["with space", "x".repeat(256)]) {
    assert.equal((await call(toy, "add_one", { name: "bad" }, bad)).status, 400, bad);
  }
});

test("a host is asked once while retries wait for its outcome", async () => {
  const asked: string[] = [];
  const askHost = async (commandId: string) => {
    asked.push(commandId);
    await new Promise((resolve) => setTimeout(resolve, 300));
  };
  await using one = await startToyProduct({ database, pepper, askHost });
  await using two = await startToyProduct({ database, pepper, askHost });
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) =>
      call(i % 2 ? one : two, "add_one_remotely", { name: "host" }, "host-key"),
    ),
  );
  assert.deepEqual(
    new Set(replies.map(({ text }) => text)),
    new Set(['{"result":{"name":"host","count":1}}']),
  );
  assert.equal(asked.length, 1);
  assert.equal(await countOf(one, "intended host"), 1);
});

test("a retry takes over from a node that stopped renewing, under the same command id, and fences it out", async () => {
  const asked: string[] = [];
  const stuck = Promise.withResolvers<void>();
  // The first node hangs without renewing its lease: its timer is far longer than the lease.
  await using hung = await startToyProduct({
    database,
    pepper,
    leaseSeconds: 1,
    async askHost(commandId) {
      asked.push(commandId);
      await expireLeases();
      await stuck.promise;
    },
  });
  await using healthy = await startToyProduct({
    database,
    pepper,
    askHost: (commandId) => (asked.push(commandId), Promise.resolve()),
  });
  const lost = call(hung, "add_one_remotely", { name: "fenced" }, "fence-key");
  while (asked.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  const taken = await call(healthy, "add_one_remotely", { name: "fenced" }, "fence-key");
  assert.deepEqual(taken.body.result, { name: "fenced", count: 1 });
  stuck.resolve();
  assert.equal(
    (await lost).text,
    taken.text,
    "the overtaken node answers with the outcome that counted",
  );
  assert.equal(asked.length, 2);
  assert.equal(asked[0], asked[1], "the host sees one command id, so its journal makes it once");
  assert.equal(await countOf(healthy, "fenced"), 1);
  assert.equal(await countOf(healthy, "intended fenced"), 1, "the intended state was made once");
});

test("a refusal of the host is undone, answered, and repeated to a retry", async () => {
  let asked = 0;
  const askHost = () => {
    asked += 1;
    return Promise.reject(new Refusal("host_refused", "The host's policy forbids it."));
  };
  await using toy = await startToyProduct({ database, pepper, askHost });
  const first = await call(toy, "add_one_remotely", { name: "no" }, "no-key");
  const again = await call(toy, "add_one_remotely", { name: "no" }, "no-key");
  assert.equal(first.status, 409);
  assert.equal(refusalText(again), refusalText(first));
  assert.equal(asked, 1);
  assert.equal(await countOf(toy, "intended no"), 0);
});

test("a call that outlasts its deadline is answered in_progress, and its retry finds the outcome", async () => {
  let asked = 0;
  const slowOnce = (_id: string, _name: string, signal: AbortSignal) => {
    asked += 1;
    if (asked > 1) return Promise.resolve();
    return new Promise<void>((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("no answer in time"))),
    );
  };
  await using toy = await startToyProduct({ database, pepper, askHost: slowOnce, deadlineMs: 200 });
  const first = await call(toy, "add_one_remotely", { name: "slow" }, "slow-key");
  assert.equal(first.body.error.code, "in_progress");
  assert.equal(first.body.error.retryAfterMs, 1000);
  assert.match(first.body.error.message, /Call again with the same idempotency key/);
  const again = await call(toy, "add_one_remotely", { name: "slow" }, "slow-key");
  assert.deepEqual(again.body.result, { name: "slow", count: 1 });
});

test("a change of records that another call with the same key has begun does not speak of a host", async () => {
  await using patient = openDatabase({
    url: service.url,
    connections: 2,
    patienceMs: 60_000,
    onIdleError: () => {},
  });
  await using first = await startToyProduct({ database: patient, pepper, deadlineMs: 60_000 });
  await using toy = await startToyProduct({ database, pepper });
  await ownerSql(
    service.url,
    `CREATE TABLE toy_gate (opened boolean);
     CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
       BEGIN
         LOOP
           EXIT WHEN EXISTS (SELECT FROM toy_gate);
           PERFORM pg_sleep(0.02);
         END LOOP;
         RETURN NEW;
       END $$;
     CREATE TRIGGER gate BEFORE INSERT ON toy_counts FOR EACH ROW
       WHEN (NEW.name = 'gated') EXECUTE FUNCTION wait_at_gate()`,
  );
  // Other test files use the same server.
  const waiting = `SELECT FROM pg_stat_activity
                    WHERE wait_event = 'PgSleep' AND datname = current_database()`;
  const begun = call(first, "add_one", { name: "gated" }, "begun");
  await until("the first call waits", async () => {
    return (await ownerSql(service.url, waiting)).length === 1;
  });
  const refused = await call(toy, "add_one", { name: "gated" }, "begun");
  await ownerSql(service.url, "INSERT INTO toy_gate VALUES (true)");
  assert.equal((await begun).body.result.count, 1);
  assert.equal(
    refused.body.error.message,
    "An earlier call with the same idempotency key is not finished. Call again with the same idempotency key to get its outcome.",
  );
  assert.equal(refused.body.error.retryAfterMs, 1000);
  assert.equal((await call(toy, "add_one", { name: "gated" }, "begun")).body.result.count, 1);
});

test("without an idempotency key, in_progress advises to read the record, and not to repeat the call", async () => {
  const askHost = (_id: string, _name: string, signal: AbortSignal) =>
    new Promise<void>((_resolve, reject) =>
      signal.addEventListener("abort", () => reject(new Error("no answer in time"))),
    );
  await using toy = await startToyProduct({ database, pepper, askHost, deadlineMs: 200 });
  const { error } = (await call(toy, "add_one_remotely", { name: "keyless" })).body;
  assert.equal(error.code, "in_progress");
  assert.equal(error.retryAfterMs, undefined);
  assert.equal(error.retry, "changed");
  assert.match(
    error.message,
    /not known whether this call takes effect.*look before you call again/,
  );
});

test("no one-time secret, idempotency key or body lies readable in an idempotency row", async () => {
  await using toy = await startToyProduct({ database, pepper });
  await call(toy, "add_one", { name: "canary-name" }, "canary-key");
  const rows = await ownerSql<{ row: string; outcome: Buffer | null }>(
    service.url,
    "SELECT row_to_json(i)::text AS row, outcome FROM idempotency i",
  );
  assert.ok(rows.length > 0);
  for (const { row, outcome } of rows) {
    assert.doesNotMatch(row, /canary/);
    assert.doesNotMatch(outcome?.toString("latin1") ?? "", /canary/);
  }
});

test("one effect for each key, also while a day ends and the next one's rows get another partition", async () => {
  await using one = await startToyProduct({ database, pepper });
  await using two = await startToyProduct({ database, pepper });
  const day = 86_400_000;
  await moveClock(service.url, (day - (Date.now() % day) - 700) / 1000);
  try {
    await makeNextPartitions(database.system);
    const endsAt = performance.now() + 1_500;
    const names: string[] = [];
    while (performance.now() < endsAt) {
      const name = `midnight ${names.length}`;
      names.push(name);
      const replies = await Promise.all(
        [one, two, one, two].map((toy) => call(toy, "add_one", { name }, name.replace(" ", "-"))),
      );
      const expected = `{"result":{"name":"${name}","count":1}}`;
      assert.deepEqual(new Set(replies.map(({ text }) => text)), new Set([expected]));
    }
    const [spread] = await ownerSql<{ partitions: number }>(
      service.url,
      `SELECT count(DISTINCT tableoid)::int AS partitions FROM idempotency
        WHERE action = 'add_one' AND tableoid <> 'idempotency_rest'::regclass`,
    );
    assert.equal(spread?.partitions, 2);
    for (const name of [names[0]!, names.at(-1)!]) {
      const again = await call(one, "add_one", { name }, name.replace(" ", "-"));
      assert.deepEqual(again.body.result, { name, count: 1 });
    }
  } finally {
    await moveClock(service.url, 0);
  }
});

test("a key is free again after a day", async () => {
  await using toy = await startToyProduct({ database, pepper });
  const add = async () => (await call(toy, "add_one", { name: "daily" }, "daily-key")).body.result;
  assert.deepEqual(await add(), { name: "daily", count: 1 });
  try {
    await moveClock(service.url, 23.9 * 3600);
    assert.deepEqual(await add(), { name: "daily", count: 1 });
    await moveClock(service.url, 24.1 * 3600);
    assert.deepEqual(await add(), { name: "daily", count: 2 });
    assert.deepEqual(await add(), { name: "daily", count: 2 });
  } finally {
    await moveClock(service.url, 0);
  }
});

async function expireLeases(): Promise<void> {
  await ownerSql(
    service.url,
    "UPDATE idempotency SET lease_until = hawser_now() - interval '1 second' WHERE state = 'running'",
  );
}
