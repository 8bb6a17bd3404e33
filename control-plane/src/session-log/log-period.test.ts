// The periods of the code are those of the database, and a read of one session touches one partition and
// no more entries than it returns.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase } from "@hawser/testkit/service-database.ts";
import { makeNextPartitions } from "../postgres/partitions.ts";
import { selectEntriesOf } from "./follow-store.ts";
import { periodOf } from "./log-period.ts";
import { selectFoundOf } from "./search-store.ts";

const idAt = (at: number) => {
  const hex = at.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8000-000000000001`;
};

test("the period of a session is the partition that the database stores its entries in", async () => {
  await using service = await openServiceDatabase();
  const day = 86_400_000;
  for (const at of [Date.now(), Date.now() - 300 * day, Date.now() + 27 * day]) {
    const [row] = await ownerSql<{ first: string; next: string }>(
      service.url,
      `SELECT hawser_partition_bound('session_log', starts)::uuid AS first,
              hawser_partition_bound('session_log', starts + 28)::uuid AS next
         FROM (SELECT hawser_period_start('session_log', $1::date) AS starts) p`,
      [new Date(at).toISOString().slice(0, 10)],
    );
    assert.deepEqual(periodOf(idAt(at)), row);
  }
  assert.equal(periodOf(idAt(Date.now() + 60 * day)), undefined);
  assert.equal(periodOf(idAt(Date.now() - 4 * 365 * day)), undefined);
  assert.equal(periodOf("ffffffff-ffff-4fff-bfff-ffffffffffff"), undefined);
});

test("a prepared read locks the log and one partition; for an id of another time, all partitions", async () => {
  await using service = await openServiceDatabase();
  await makeNextPartitions(service.database.system);
  const locked = async (sessionId: string) => {
    const { text } = selectEntriesOf(sessionId);
    const rows = await ownerSql<{ name: string }>(
      service.url,
      `SET plan_cache_mode = force_generic_plan;
       PREPARE read (uuid, uuid, bigint, int, bigint) AS ${text};
       EXECUTE read ('${sessionId}', '${sessionId}', 0, 10, 1000);
       BEGIN;
       EXECUTE read ('${sessionId}', '${sessionId}', 0, 10, 1000);
       SELECT relation::regclass::text AS name FROM pg_locks
        WHERE pid = pg_backend_pid() AND relation::regclass::text ~ '^session_log(_[0-9]+|_rest)?$'
        ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  const near = await locked(idAt(Date.now()));
  assert.equal(near.length, 2);
  assert.equal(near[0], "session_log");
  assert.match(near[1]!, /^session_log_[0-9]{8}$/);
  assert.equal((await locked("00000000-0000-7000-8000-000000000000")).length, 5);
});

test("a session whose period has no partition is read from the default partition", async () => {
  await using service = await openServiceDatabase();
  const sessionId = idAt(Date.now());
  const organizationId = "0198c000-0000-7000-8000-000000000000";
  await ownerSql(
    service.url,
    `INSERT INTO session_log (session_id, seq, organization_id, at, update)
     SELECT $1, n, $2, now(), '{}' FROM generate_series(1, 3) n`,
    [sessionId, organizationId],
  );
  const rows = await service.database
    .tenant(organizationId)
    .rows(selectEntriesOf(sessionId), organizationId, sessionId, 1, 10, 1000);
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    [2, 3],
  );
});

interface PlanNode {
  "Relation Name"?: string;
  "Actual Rows": number;
  "Actual Loops": number;
  "Rows Removed by Filter"?: number;
  Plans?: PlanNode[];
}

/** How many rows of the log the plan's scans read. */
function rowsRead(node: PlanNode): number {
  const isLog = node["Relation Name"]?.startsWith("session_log") ?? false;
  const rows = node["Actual Rows"] + (node["Rows Removed by Filter"] ?? 0);
  const own = isLog ? rows * node["Actual Loops"] : 0;
  return (node.Plans ?? []).reduce((sum, each) => sum + rowsRead(each), own);
}

for (const [time, daysAgo] of [
  ["of this period", 0],
  ["of ten years ago", 3650],
] as const) {
  test(`a page of a session ${time} reads the entries that it returns and no others, with and without statistics`, async () => {
    await using service = await openServiceDatabase();
    const sessionId = idAt(Date.now() - daysAgo * 86_400_000);
    const organizationId = "0198c000-0000-7000-8000-000000000000";
    const { text } = selectEntriesOf(sessionId);
    const readPage = async () => {
      const [row] = await ownerSql<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
        service.url,
        `SET ROLE hawser_app; SET plan_cache_mode = force_generic_plan;
         SET hawser.organization_id = '${organizationId}';
         PREPARE read (uuid, uuid, bigint, int, bigint) AS ${text};
         EXPLAIN (ANALYZE, FORMAT JSON)
           EXECUTE read ('${organizationId}', '${sessionId}', 500, 200, 1000000)`,
      );
      return rowsRead(row!["QUERY PLAN"][0].Plan);
    };
    await ownerSql(
      service.url,
      `INSERT INTO session_log (session_id, seq, organization_id, at, update)
       SELECT $1, n, $2, now(), '{}' FROM generate_series(1, 5000) n`,
      [sessionId, organizationId],
    );
    assert.equal(await readPage(), 200);
    await ownerSql(service.url, `ANALYZE session_log`);
    assert.equal(await readPage(), 200);
  });

  test(`a search in a session ${time} reads its window once, and again only what it returns`, async () => {
    await using service = await openServiceDatabase();
    const sessionId = idAt(Date.now() - daysAgo * 86_400_000);
    const organizationId = "0198c000-0000-7000-8000-000000000000";
    const { text } = selectFoundOf(sessionId);
    const search = async (wanted: string) => {
      const [row] = await ownerSql<{ "QUERY PLAN": [{ Plan: PlanNode }] }>(
        service.url,
        `SET ROLE hawser_app; SET plan_cache_mode = force_generic_plan;
         SET hawser.organization_id = '${organizationId}';
         PREPARE read (uuid, uuid, bigint, bigint, text, int) AS ${text};
         EXPLAIN (ANALYZE, FORMAT JSON)
           EXECUTE read ('${organizationId}', '${sessionId}', 500, 700, '${wanted}', 20)`,
      );
      return rowsRead(row!["QUERY PLAN"][0].Plan);
    };
    await ownerSql(
      service.url,
      `INSERT INTO session_log (session_id, seq, organization_id, at, update)
       SELECT $1, n, $2, now(), jsonb_build_object('text', CASE WHEN n % 20 = 0 THEN 'hay with needle' ELSE 'hay' END)
         FROM generate_series(1, 5000) n`,
      [sessionId, organizationId],
    );
    for (const statistics of ["without", "with"]) {
      if (statistics === "with") await ownerSql(service.url, `ANALYZE session_log`);
      // The plan rounds: the loop behind the last entry, which finds nothing, counts as one row.
      assert.equal(await search("no such text"), 201, statistics);
      assert.equal(await search("needle"), 201 + 10, statistics);
      assert.equal(await search("hay"), 201 + 20, statistics);
    }
  });
}
