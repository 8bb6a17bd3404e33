// Expired periods are dropped as a whole, and only when no organization keeps anything in them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createLog } from "./log.ts";
import { makeNextPartitions } from "./postgres/partitions.ts";
import { systemStatement } from "./postgres/statement.ts";
import { purge } from "./purge.ts";

const log = createLog("silent");

test("an expired period is gone with its partition", async () => {
  await using stage = await openStage();
  await stage.addSession({ startedDays: 0, endedDays: 1, entries: 50 });
  await stage.addAudit();
  await stage.addIdempotency();
  await stage.atDay(1);
  assert.equal(await stage.rows("idempotency"), 1);

  await stage.atDay(3);
  await stage.purge();
  assert.equal(await stage.rows("idempotency"), 0);
  assert.equal(await stage.rows("session_log"), 50);

  await stage.atDay(365 + 2 * 28 - 1);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 50);
  assert.equal(await stage.rows("audit_entries"), 1);
  await stage.atDay(365 + 2 * 28 + 1);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 0);
  assert.equal(await stage.rows("audit_entries"), 1, "audit entries are kept for longer");
  await stage.atDay(400 + 28 + 1);
  await stage.purge();
  assert.equal(await stage.rows("audit_entries"), 0);
  assert.equal(await stage.rows("audit_reads"), 0);

  const left = await stage.leaves();
  assert.deepEqual(
    left.filter((name) => name.endsWith(stage.firstDay)),
    [],
  );
});

test("a clock that is far ahead removes nothing, and what has expired goes a period later", async () => {
  await using stage = await openStage();
  await stage.addSession({ startedDays: 0, endedDays: 1, entries: 3 });
  await stage.addAudit();
  await stage.addIdempotency();
  const rows = () =>
    Promise.all(["session_log", "audit_entries", "idempotency"].map((table) => stage.rows(table)));
  const years = 20 * 365;
  await stage.jumpToDay(years);
  await stage.purge();
  await stage.purge();
  assert.deepEqual(await rows(), [3, 1, 1]);
  // The clock was right: it was the service that stood still.
  await stage.atDay(years + 28);
  await stage.purge();
  assert.deepEqual(await rows(), [0, 0, 0]);
});

test("the longest retention of any organization counts", async () => {
  await using stage = await openStage();
  await stage.addSession({ startedDays: 0, endedDays: 1, entries: 3 });
  await stage.addAudit();
  const other = await createTestOrganization(stage.service.database, "Late", "l@late.example");
  await ownerSql(
    stage.service.url,
    `UPDATE organizations SET log_retention_days = 900, audit_retention_days = 900 WHERE organization_id = $1`,
    [parseId("organization", other.organizationId)],
  );
  await stage.atDay(800);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 3);
  assert.equal(await stage.rows("audit_entries"), 1);
  await stage.atDay(1_000);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 0);
  assert.equal(await stage.rows("audit_entries"), 0);
});

test("a log is kept for its time after the session's end, however long the session lasted", async () => {
  await using stage = await openStage();
  await stage.addSession({ startedDays: 0, endedDays: 300, entries: 3 });
  await stage.atDay(300 + 364);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 3);
  await stage.atDay(300 + 366);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 0);
});

test("the log of an open session is kept for its time after the last entry", async () => {
  await using stage = await openStage();
  const session = await stage.addSession({ startedDays: 0, entries: 3 });
  await stage.addEntry(session, 4, 500);
  await stage.atDay(500 + 364);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 4);
  await stage.atDay(500 + 366);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 0);

  await stage.addEntry(session, 5, 500 + 367);
  assert.equal(await stage.rows("session_log"), 1, "a later entry is stored all the same");
});

test("a deleted session keeps nothing", async () => {
  await using stage = await openStage();
  const session = await stage.addSession({ startedDays: 0, entries: 3 });
  await ownerSql(
    stage.service.url,
    `UPDATE sessions SET deleted_at = hawser_now() WHERE session_id = $1`,
    [session],
  );
  await stage.atDay(365 + 57);
  await stage.purge();
  assert.equal(await stage.rows("session_log"), 0);
});

test("the service cannot delete rows of these tables", async () => {
  await using stage = await openStage();
  for (const role of ["hawser_app", "hawser_system"]) {
    const rows = await ownerSql(
      stage.service.url,
      `SELECT relname FROM pg_class
        WHERE (relispartition OR relkind = 'p') AND relkind IN ('r', 'p')
          AND has_table_privilege($1, oid, 'DELETE, TRUNCATE')`,
      [role],
    );
    assert.deepEqual(rows, [], role);
  }
});

test("no period that is kept can be dropped by the service, and a busy table is left for later", async () => {
  await using stage = await openStage();
  const { system } = stage.service.database;
  await stage.addIdempotency();
  const drop = systemStatement<{ dropped: boolean }>(
    "test: drop a partition",
    `SELECT hawser_drop_partition('idempotency', (hawser_now() AT TIME ZONE 'UTC')::date) AS dropped`,
  );
  assert.deepEqual(await system.first(drop), { dropped: false });
  await stage.atDay(3);
  {
    await using _reader = await holdRow(stage.service.url, `SELECT * FROM idempotency FOR SHARE`);
    const startedAt = performance.now();
    await stage.purge();
    assert.ok(performance.now() - startedAt < 3_000);
    assert.equal(await stage.rows("idempotency"), 1);
  }
  await stage.purge();
  assert.equal(await stage.rows("idempotency"), 0);
});

interface SessionSpan {
  startedDays: number;
  endedDays?: number;
  entries: number;
}

/** A database at the first day of a period, with one organization and one instance. */
async function openStage() {
  const service = await openServiceDatabase();
  const made = await createTestOrganization(service.database, "Acme", "a@acme.example");
  const organizationId = parseId("organization", made.organizationId)!;
  const [start] = await ownerSql<{ seconds: number; instance: string; day: string }>(
    service.url,
    `INSERT INTO instances (organization_id, name) VALUES ($1, 'box')
     RETURNING instance_id AS instance,
       extract(epoch FROM hawser_period_start('session_log', current_date) + 28)::float8 AS seconds,
       to_char(hawser_period_start('session_log', current_date) + 28, 'YYYYMMDD') AS day`,
    [organizationId],
  );
  const { seconds, instance, day: firstDay } = start!;
  const jumpToDay = (days: number) =>
    moveClock(service.url, seconds + days * 86_400 + 60 - Date.now() / 1000);
  const { system } = service.database;
  await jumpToDay(0);
  // Entries that were written before the clock was moved would be in other periods.
  await ownerSql(service.url, `DELETE FROM audit_entries`);
  await makeNextPartitions(system);

  return {
    service,
    /** As in the names of partitions. */
    firstDay,
    /** Sets the clock while no node runs. */
    jumpToDay,
    /** Sets the clock. Nodes have run until then, and have made the partitions of the last periods. */
    async atDay(days: number) {
      for (const before of [28, 1, 0]) {
        await jumpToDay(days - before);
        await makeNextPartitions(system);
      }
    },
    async addSession({ startedDays, endedDays, entries }: SessionSpan): Promise<string> {
      const [row] = await ownerSql<{ session_id: string }>(
        service.url,
        `INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, applied_seq, created_at,
                               ended_at, status)
         VALUES ($1, $2, 'codex', '{}', $3, to_timestamp($4), to_timestamp($5), $6) RETURNING session_id`,
        [
          organizationId,
          instance,
          entries,
          seconds + startedDays * 86_400,
          endedDays === undefined ? null : seconds + endedDays * 86_400,
          endedDays === undefined ? "detached" : "ended",
        ],
      );
      await ownerSql(
        service.url,
        `INSERT INTO session_log (session_id, seq, organization_id, at, update)
         SELECT $1, n, $2, hawser_now(), '{}' FROM generate_series(1, $3::int) n`,
        [row!.session_id, organizationId, entries],
      );
      return row!.session_id;
    },
    async addEntry(session: string, seq: number, days: number): Promise<void> {
      await ownerSql(
        service.url,
        `WITH moved AS (UPDATE sessions SET applied_seq = $2 WHERE session_id = $1)
         INSERT INTO session_log (session_id, seq, organization_id, at, update)
         VALUES ($1, $2, $3, to_timestamp($4), '{}')`,
        [session, seq, organizationId, seconds + days * 86_400],
      );
    },
    async addAudit(): Promise<void> {
      await ownerSql(
        service.url,
        `WITH r AS (INSERT INTO audit_reads VALUES ($1, $1, 'x', date_trunc('hour', hawser_now()), 1))
         INSERT INTO audit_entries (organization_id, action, outcome, input, records, call_id)
         VALUES ($1, 'x', 'done', '{}', '{}', 'c')`,
        [organizationId],
      );
    },
    async addIdempotency(): Promise<void> {
      await ownerSql(
        service.url,
        `INSERT INTO idempotency (organization_id, api_key_id, action, key_hash, body_hmac, state, expires_at)
         VALUES ($1, $1, 'x', '', '', 'done', hawser_now() + interval '1 day')`,
        [organizationId],
      );
    },
    async purge(): Promise<void> {
      await makeNextPartitions(service.database.system);
      await purge(service.database.system, log, new AbortController().signal);
    },
    async rows(table: string): Promise<number> {
      const [row] = await ownerSql<{ n: number }>(
        service.url,
        `SELECT count(*)::int AS n FROM ${table}`,
      );
      return row!.n;
    },
    async leaves(): Promise<string[]> {
      const rows = await ownerSql<{ name: string }>(
        service.url,
        `SELECT relname AS name FROM pg_class WHERE relispartition AND relkind = 'r'`,
      );
      return rows.map(({ name }) => name);
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}
