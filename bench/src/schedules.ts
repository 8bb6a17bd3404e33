// Scheduled prompts: how fast the times that are due are claimed, beside the bare claim by pgbench, and what a sweep
// costs that finds nothing, with few and with many schedules stored.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "@hawser/control-plane/log.ts";
import { createSweep, type Sweep } from "@hawser/control-plane/schedules/sweep.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import {
  borrowed,
  forMeasuring,
  makeDirectory,
  runTool,
  startPostgres,
  type PostgresCluster,
} from "@hawser/testkit/postgres.ts";
import { removeDirectory } from "@hawser/testkit/remove-directory.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { figureOf, median, type Figure, type Goal, type Round } from "./figure.ts";
import { inTurns, millisecondsRound } from "./rounds.ts";
import { say } from "./stage.ts";

const goals = {
  claim: {
    name: "schedules_claim",
    unit: "/s",
    goal: 0.5,
    direction: "at least",
    meaning: "times claimed per second, beside the bare claim of as many rows by pgbench",
  },
  idle: {
    name: "schedules_idle_sweep",
    unit: "ms",
    goal: 1.3,
    direction: "at most",
    meaning: "a sweep that finds nothing due, with many schedules stored beside 1,000",
  },
} satisfies Record<string, Goal>;

/** Nodes that sweep at the same time, and connections of pgbench. */
const sweepers = 2;
/** Rows of one claim: what a node claims at once. */
const atOnce = 500;
const few = 1_000;

const sizesOf = (quick: boolean) =>
  quick
    ? { schedules: 20_000, due: 2_000, rounds: 1, sweeps: 20 }
    : { schedules: 1_000_000, due: 20_000, rounds: 9, sweeps: 200 };

export async function* measureSchedules(quick: boolean): AsyncGenerator<[Figure, Goal]> {
  const { schedules, due, rounds, sweeps } = sizesOf(quick);
  await using parts = new AsyncDisposableStack();
  const cluster = parts.use(
    await startPostgres({
      ...forMeasuring,
      settings: { ...forMeasuring.settings, shared_buffers: "1GB" },
    }),
  );
  const many = parts.use(await openStored(cluster, schedules));
  yield [figureOf(goals.claim, await claimRounds(many, due, rounds)), goals.claim];
  const small = parts.use(await openStored(cluster, few));
  yield [figureOf(goals.idle, await idleRounds(many, small, rounds, sweeps)), goals.idle];
}

/** A database with this many schedules, all due tomorrow, and as many rows of the bare tables. */
async function openStored(cluster: PostgresCluster, schedules: number): Promise<ServiceDatabase> {
  const service = await openServiceDatabase({ cluster: borrowed(cluster), connections: 8 });
  const { url } = service;
  await ownerSql(url, insertOrganizations, []);
  await ownerSql(url, insertSchedules, [schedules]);
  for (const statement of bareTables) await ownerSql(url, statement, []);
  await ownerSql(url, "VACUUM (ANALYZE) schedules, bare_schedules", []);
  await ownerSql(url, "CHECKPOINT", []);
  say(`${schedules} schedules are stored`);
  return service;
}

/** Claims per second: both sides claim the same number of due rows, `atOnce` in a transaction. */
async function claimRounds(
  { url, database }: ServiceDatabase,
  due: number,
  rounds: number,
): Promise<Round[]> {
  const directory = makeDirectory();
  const script = join(directory, "claim.sql");
  writeFileSync(script, bareClaim);
  const nodes = Array.from({ length: sweepers }, (_, index) => sweepOf(database, `node ${index}`));
  const perSecond = (startedAt: number) => (due * 1000) / (performance.now() - startedAt);
  const ours = async () => {
    await ownerSql(url, makeDue("schedules"), [due]);
    const startedAt = performance.now();
    const claimed = await Promise.all(nodes.map((sweep) => claimAll(sweep)));
    const rate = perSecond(startedAt);
    assert.equal(claimed[0]! + claimed[1]!, due);
    await ownerSql(url, "TRUNCATE schedule_runs", []);
    return rate;
  };
  const bare = async () => {
    await ownerSql(url, makeDue("bare_schedules"), [due]);
    const each = due / atOnce / sweepers;
    const startedAt = performance.now();
    const load = ["-c", String(sweepers), "-j", "1", "-t", String(each)];
    await runTool("pgbench", ["-n", ...load, "-f", script, url]);
    const rate = perSecond(startedAt);
    const [row] = await ownerSql<{ count: number }>(url, countBare, []);
    assert.equal(row!.count, due);
    await ownerSql(url, "TRUNCATE bare_runs", []);
    return rate;
  };
  try {
    return await inTurns(rounds, ours, bare, (a, b) => ({
      round: { ours: a, bare: b },
      text: `${a.toFixed(0)}/s beside ${b.toFixed(0)}/s`,
    }));
  } finally {
    for (const sweep of nodes) sweep[Symbol.dispose]();
    removeDirectory(directory);
  }
}

async function claimAll(sweep: Sweep): Promise<number> {
  let all = 0;
  for (let misses = 0; misses < 3;) {
    const claimed = await sweep.claim();
    all += claimed;
    // Another sweeper may have locked what this one found.
    misses = claimed === 0 ? misses + 1 : 0;
  }
  return all;
}

/** Milliseconds of a sweep that finds nothing: median of many, with many schedules stored and with few. */
async function idleRounds(
  many: ServiceDatabase,
  small: ServiceDatabase,
  rounds: number,
  sweeps: number,
): Promise<Round[]> {
  using manySweep = sweepOf(many.database, "many");
  using fewSweep = sweepOf(small.database, "few");
  const once = async (sweep: Sweep) => {
    const times: number[] = [];
    for (let i = 0; i < sweeps; i++) {
      const startedAt = performance.now();
      assert.equal(await sweep.claim(), 0);
      await sweep.pickUp();
      await sweep.watch();
      times.push(performance.now() - startedAt);
    }
    return median(times);
  };
  return await inTurns(
    rounds,
    () => once(manySweep),
    () => once(fewSweep),
    (a, b) => millisecondsRound(a, b),
  );
}

function sweepOf(database: ServiceDatabase["database"], nodeId: string) {
  const unused = () => Promise.reject(new Error("No run is worked on here."));
  return createSweep({
    database,
    nodeId,
    callerOfKey: unused,
    dispatchAs: unused,
    observeClaim: () => {},
    log: createLog("silent"),
  });
}

const insertOrganizations = `
  INSERT INTO organizations (name, time_zone)
  SELECT 'Organization ' || n, CASE WHEN n % 2 = 0 THEN 'UTC' ELSE 'Europe/Berlin' END
    FROM generate_series(1, 1000) n`;

const insertSchedules = `
  INSERT INTO schedules (organization_id, prompt, directory, instance_ids, frequency, start_at, next_run_at,
                         api_key_id, acts_as, created_by)
  SELECT o.organization_id, 'Update the dependencies, run the tests, and open a pull request.', '/srv/work',
         ARRAY[hawser_new_id()], 'daily', start_at, start_at, hawser_new_id(), '{}', '{}'
    FROM generate_series(1, $1::int) n
    JOIN (SELECT organization_id, row_number() OVER () AS place FROM organizations) o ON o.place = 1 + n % 1000,
         LATERAL (SELECT date_trunc('milliseconds', hawser_now()) + interval '1 day' + n * interval '1 millisecond' AS start_at) times`;

/** $1 how many. */
const makeDue = (table: string) => `
  UPDATE ${table} SET next_run_at = date_trunc('milliseconds', hawser_now()) - interval '1 second'
   WHERE schedule_id IN (SELECT schedule_id FROM ${table} ORDER BY next_run_at DESC LIMIT $1::int)`;

/** The same rows as the product's, with the index that finds the due ones, and a ledger with a unique key. */
const bareTables = [
  `CREATE TABLE bare_schedules AS SELECT * FROM schedules`,
  `ALTER TABLE bare_schedules ADD PRIMARY KEY (organization_id, schedule_id)`,
  `CREATE INDEX ON bare_schedules (next_run_at)`,
  `CREATE TABLE bare_runs (organization_id uuid, schedule_id uuid, run_at timestamptz, prompt text,
     PRIMARY KEY (organization_id, schedule_id, run_at))`,
];

const bareClaim = `
WITH due AS (
  SELECT organization_id, schedule_id, next_run_at FROM bare_schedules
   WHERE next_run_at <= now() ORDER BY next_run_at LIMIT ${atOnce} FOR UPDATE SKIP LOCKED),
moved AS (
  UPDATE bare_schedules s SET next_run_at = s.next_run_at + interval '1 day' FROM due
   WHERE s.organization_id = due.organization_id AND s.schedule_id = due.schedule_id
  RETURNING s.organization_id, s.schedule_id, due.next_run_at, s.prompt)
INSERT INTO bare_runs SELECT * FROM moved;
`;

const countBare = `SELECT count(*)::int AS count FROM bare_runs`;
