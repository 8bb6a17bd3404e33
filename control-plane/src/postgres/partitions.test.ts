import assert from "node:assert/strict";
import { test } from "node:test";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { makeNextPartitions, readPartitionLeads } from "./partitions.ts";
import { systemStatement } from "./statement.ts";

const organizationId = "0198c000-0000-7000-8000-000000000000";
const tables = ["audit_entries", "audit_reads", "idempotency", "session_log"];

test("this period and the next two get a partition, and new sessions' entries are stored in it", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  assert.deepEqual(await makeNextPartitions(service.database.system), []);
  assert.deepEqual(await partitions(service, "session_log"), [
    "session_log_20261026",
    "session_log_20261123",
    "session_log_20261221",
    "session_log_rest",
  ]);
  assert.deepEqual(await partitions(service, "idempotency"), [
    "idempotency_20261118",
    "idempotency_20261119",
    "idempotency_20261120",
    "idempotency_rest",
  ]);

  assert.equal(await insertEntry(service, "2026-10-25T23:59:59.999Z"), "session_log_rest");
  assert.equal(await insertEntry(service, "2026-10-26T00:00:00.000Z"), "session_log_20261026");
  assert.equal(await insertEntry(service, "2026-11-22T23:59:59.999Z"), "session_log_20261026");
  assert.equal(await insertEntry(service, "2026-11-23T00:00:00.000Z"), "session_log_20261123");

  assert.deepEqual(await makeNextPartitions(service.database.system), []);
  await clockAt(service, "2027-02-22T00:00:00Z");
  assert.deepEqual(await makeNextPartitions(service.database.system), []);
  assert.deepEqual((await partitions(service, "session_log")).slice(3), [
    "session_log_20270215",
    "session_log_20270315",
    "session_log_20270412",
    "session_log_rest",
  ]);
});

test("the lead is the time until the first period without a partition", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const leads = async () =>
    (await readPartitionLeads(system)).map(({ partitioned, seconds }) => [
      partitioned,
      Math.ceil(seconds / 3600),
    ]);
  const hours = (periods: number, days: number) => 24 * (28 * periods - days);
  await clockAt(service, "2026-11-18T00:00:00Z");
  assert.deepEqual(
    await leads(),
    tables.map((table) => [table, 0]),
  );
  await makeNextPartitions(system);
  assert.deepEqual(
    await leads(),
    tables.map((table) => [table, table === "idempotency" ? 72 : hours(3, 23)]),
  );
  await ownerSql(service.url, `DROP TABLE session_log_20261123`);
  assert.deepEqual((await leads()).at(-1), ["session_log", hours(1, 23)]);
});

test("rows of every partitioned table are stored in the partition of their time", async () => {
  await using service = await openServiceDatabase();
  await makeNextPartitions(service.database.system);
  const stored = await ownerSql<{ name: string }>(
    service.url,
    `WITH a AS (INSERT INTO audit_entries (organization_id, action, outcome, input, records, call_id)
                VALUES ($1, 'x', 'done', '{}', '{}', 'c') RETURNING tableoid::regclass::text AS name),
          r AS (INSERT INTO audit_reads VALUES ($1, $1, 'x', date_trunc('hour', hawser_now()), 1)
                RETURNING tableoid::regclass::text AS name),
          i AS (INSERT INTO idempotency (organization_id, api_key_id, action, key_hash, body_hmac, state, expires_at)
                VALUES ($1, $1, 'x', '', '', 'done', hawser_now()) RETURNING tableoid::regclass::text AS name)
     SELECT name FROM a UNION ALL SELECT name FROM r UNION ALL SELECT name FROM i`,
    [organizationId],
  );
  const [day] = await ownerSql<{ today: string; period: string }>(
    service.url,
    `SELECT to_char(today, 'YYYYMMDD') AS today, to_char(hawser_period_start('session_log', today), 'YYYYMMDD') AS period
       FROM (SELECT (hawser_now() AT TIME ZONE 'UTC')::date AS today) d`,
  );
  const { today, period } = day!;
  assert.deepEqual(
    stored.map(({ name }) => name),
    [`audit_entries_${period}`, `audit_reads_${period}`, `idempotency_${today}`],
  );
});

test("nodes that create partitions at once create each once", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const missing = await Promise.all(Array.from({ length: 8 }, () => makeNextPartitions(system)));
  // A node that waited too long for the others tries again the next time.
  assert.ok(missing.some((periods) => periods.length === 0));
  assert.deepEqual(await makeNextPartitions(system), []);
  for (const table of tables) assert.equal((await partitions(service, table)).length, 4, table);
});

test("a partition keeps the walls between tenants, and is no way around them", async () => {
  await using service = await openServiceDatabase();
  await makeNextPartitions(service.database.system);
  const bare = await ownerSql(
    service.url,
    `SELECT relname FROM pg_class WHERE relispartition AND relkind = 'r' AND NOT relrowsecurity`,
  );
  assert.deepEqual(bare, []);
  for (const table of tables) {
    const [name] = await partitions(service, table);
    for (const role of ["hawser_app", "hawser_system"]) {
      const asRole = new URL(service.url);
      asRole.searchParams.set("options", `-c role=${role}`);
      await assert.rejects(ownerSql(asRole.href, `SELECT * FROM ${name}`), /permission denied/);
      await assert.rejects(ownerSql(asRole.href, `DROP TABLE ${name}`), /must be owner/);
    }
  }
});

test("a period whose entries are in the default partition already keeps them there", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  assert.equal(await insertEntry(service, "2026-12-04T08:00:00Z"), "session_log_rest");
  assert.deepEqual(await makeNextPartitions(service.database.system), [
    { partitioned: "session_log", first_day: "2026-11-23" },
  ]);
  assert.deepEqual(await partitions(service, "session_log"), [
    "session_log_20261026",
    "session_log_20261221",
    "session_log_rest",
  ]);
  assert.equal(await insertEntry(service, "2026-12-04T09:00:00Z"), "session_log_rest");
});

test("while a long transaction reads the log, creating its partitions gives up soon and is tried again", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  {
    await using _reader = await holdRow(service.url, `SELECT * FROM session_log FOR SHARE`);
    const startedAt = performance.now();
    const missing = await makeNextPartitions(system);
    assert.deepEqual(
      missing.map(({ partitioned }) => partitioned),
      ["session_log", "session_log", "session_log"],
    );
    assert.ok(performance.now() - startedAt < 4_000);
  }
  assert.deepEqual(await makeNextPartitions(system), []);
});

test("only near periods of partitioned tables, from their first day on, and only the system may ask", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  const make = systemStatement<{ made: boolean }>(
    "test: make a partition",
    `SELECT hawser_make_partition($1, $2::date) AS made`,
  );
  const { system } = service.database;
  assert.deepEqual(await system.first(make, "session_log", "2027-01-18"), { made: true });
  for (const far of ["2026-09-28", "2027-02-15"])
    await assert.rejects(system.first(make, "session_log", far), /is not near/);
  await assert.rejects(system.first(make, "session_log", "2026-11-09"), /No period .* begins on/);
  await assert.rejects(system.first(make, "organizations", "2026-11-18"), /is not partitioned/);
  const tenant = service.database.tenant(organizationId);
  await assert.rejects(tenant.first(make, "session_log", "2026-11-23"), /denied/);
});

const clockAt = (service: ServiceDatabase, at: string) =>
  moveClock(service.url, (Date.parse(at) - Date.now()) / 1000);

async function partitions(service: ServiceDatabase, table: string): Promise<string[]> {
  const rows = await ownerSql<{ name: string }>(
    service.url,
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent = $1::regclass ORDER BY 1`,
    [table],
  );
  return rows.map(({ name }) => name);
}

/** Adds an entry of a session created then, and returns the partition that contains it. */
async function insertEntry(service: ServiceDatabase, bornAt: string): Promise<string> {
  const milliseconds = Date.parse(bornAt).toString(16).padStart(12, "0");
  const id = `${milliseconds}7abc8${Math.random().toString(16).slice(2, 14).padEnd(15, "f")}`;
  const [row] = await ownerSql<{ name: string }>(
    service.url,
    `INSERT INTO session_log (session_id, seq, organization_id, at, update)
     VALUES ($1::uuid, 1, $2, now(), '{}') RETURNING tableoid::regclass::text AS name`,
    [id, organizationId],
  );
  return row!.name;
}
