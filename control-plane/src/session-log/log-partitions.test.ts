import assert from "node:assert/strict";
import { test } from "node:test";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { systemStatement } from "../postgres/statement.ts";
import { ensureLogPartitions } from "./log-partitions.ts";

const organizationId = "0198c000-0000-7000-8000-000000000000";

test("this week and the next two get a partition, and new sessions' entries lie in it", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  assert.deepEqual(await ensureLogPartitions(service.database.system), []);
  const weeks = ["session_log_2026w47", "session_log_2026w48", "session_log_2026w49"];
  assert.deepEqual(await partitions(service), [...weeks, "session_log_rest"]);

  assert.equal(await insertEntry(service, "2026-11-15T23:59:59.999Z"), "session_log_rest");
  assert.equal(await insertEntry(service, "2026-11-16T00:00:00.000Z"), "session_log_2026w47");
  assert.equal(await insertEntry(service, "2026-11-22T23:59:59.999Z"), "session_log_2026w47");
  assert.equal(await insertEntry(service, "2026-11-23T00:00:00.000Z"), "session_log_2026w48");

  assert.deepEqual(await ensureLogPartitions(service.database.system), []);
  await clockAt(service, "2026-12-28T00:00:00Z");
  assert.deepEqual(await ensureLogPartitions(service.database.system), []);
  assert.deepEqual((await partitions(service)).slice(3), [
    "session_log_2026w53",
    "session_log_2027w01",
    "session_log_2027w02",
    "session_log_rest",
  ]);
});

test("nodes that see to it at once make each partition once", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  const left = await Promise.all(Array.from({ length: 8 }, () => ensureLogPartitions(system)));
  // A node that waited too long for the others tries again at its next heartbeat.
  assert.ok(left.some((weeks) => weeks.length === 0));
  assert.deepEqual(await ensureLogPartitions(system), []);
  assert.equal((await partitions(service)).length, 4);
});

test("a partition keeps the walls between tenants, and is no way around them", async () => {
  await using service = await openServiceDatabase();
  await ensureLogPartitions(service.database.system);
  const [name] = await partitions(service);
  const bare = await ownerSql(
    service.url,
    `SELECT relname FROM pg_class WHERE relname LIKE 'session_log%' AND relkind IN ('r', 'p') AND NOT relrowsecurity`,
  );
  assert.deepEqual(bare, []);
  for (const role of ["hawser_app", "hawser_system"]) {
    const asRole = new URL(service.url);
    asRole.searchParams.set("options", `-c role=${role}`);
    await assert.rejects(ownerSql(asRole.href, `SELECT * FROM ${name}`), /permission denied/);
    await assert.rejects(ownerSql(asRole.href, `DROP TABLE ${name}`), /must be owner/);
  }
});

test("a week whose entries are in the default partition already keeps them there", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  assert.equal(await insertEntry(service, "2026-11-24T08:00:00Z"), "session_log_rest");
  assert.deepEqual(await ensureLogPartitions(service.database.system), ["2026-11-23"]);
  assert.deepEqual(await partitions(service), [
    "session_log_2026w47",
    "session_log_2026w49",
    "session_log_rest",
  ]);
  assert.equal(await insertEntry(service, "2026-11-24T09:00:00Z"), "session_log_rest");
});

test("while someone reads the log for long, making partitions gives up soon and comes back", async () => {
  await using service = await openServiceDatabase();
  const { system } = service.database;
  {
    await using _reader = await holdRow(service.url, `SELECT * FROM session_log FOR SHARE`);
    const startedAt = performance.now();
    assert.equal((await ensureLogPartitions(system)).length, 3);
    assert.ok(performance.now() - startedAt < 4_000);
  }
  assert.deepEqual(await ensureLogPartitions(system), []);
});

test("only near weeks, from their Monday on, and only the system may ask", async () => {
  await using service = await openServiceDatabase();
  await clockAt(service, "2026-11-18T12:00:00Z");
  const make = systemStatement<{ made: boolean }>(
    "test: make a partition",
    `SELECT hawser_make_log_partition($1::date) AS made`,
  );
  const { system } = service.database;
  assert.deepEqual(await system.first(make, "2026-12-21"), { made: true });
  for (const far of ["2026-11-09", "2026-12-28", "2126-11-18"])
    await assert.rejects(system.first(make, far), /is not near/);
  await assert.rejects(system.first(make, "2026-11-17"), /begins on a Monday/);
  await assert.rejects(service.database.tenant(organizationId).first(make, "2026-11-16"), /denied/);
});

const clockAt = (service: ServiceDatabase, at: string) =>
  moveClock(service.url, (Date.parse(at) - Date.now()) / 1000);

async function partitions(service: ServiceDatabase): Promise<string[]> {
  const rows = await ownerSql<{ name: string }>(
    service.url,
    `SELECT inhrelid::regclass::text AS name FROM pg_inherits
      WHERE inhparent = 'session_log'::regclass ORDER BY 1`,
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
