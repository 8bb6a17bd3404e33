// What a world costs while something happens in it: transactions, WAL and processor time, counted from
// outside. PostgreSQL, the nodes and the NATS servers count; light hosts, viewers and callers do not.
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { familyProcessorSeconds, processorSeconds } from "@hawser/testkit/processor-time.ts";
import type { World } from "@hawser/testkit/world.ts";

/** The quantities that grow with the number of hosts and viewers. */
export const quantities = [
  "transactions",
  "walBytes",
  "nodeSeconds",
  "postgresSeconds",
  "natsSeconds",
] as const;

/** `…Seconds` are seconds of processor time. */
export type Quantities = Record<(typeof quantities)[number], number>;

export interface Cost extends Quantities {
  /** Duration. */
  seconds: number;
}

/** What PostgreSQL has counted so far. */
export interface Counters {
  transactions: number;
  deadlocks: number;
  walBytes: number;
}

/**
 * Measures what `work` costs. Two kinds of work are done before, so that every measurement contains equally
 * much of them: what autovacuum would do after the preparations, and a checkpoint. The cluster makes no
 * checkpoint by itself. After one, PostgreSQL writes each page as a whole to the WAL when it first changes.
 */
export async function costOf(world: World, work: () => Promise<unknown>): Promise<Cost> {
  await ownerSql(world.database.url, "VACUUM (ANALYZE)");
  await ownerSql(world.database.url, "CHECKPOINT");
  const before = await readAll(world);
  await work();
  const after = await readAll(world);
  const difference = Object.entries(after).map(([name, value]) => [
    name,
    value - before[name as keyof Cost],
  ]);
  return Object.fromEntries(difference) as Cost;
}

async function readAll(world: World): Promise<Cost> {
  const { transactions, walBytes } = await readCounters(world);
  const { postgresPid } = world.database;
  if (postgresPid === undefined) throw new Error("Costs are measured in a cluster of its own.");
  const sum = (pids: number[]) => pids.reduce((total, pid) => total + processorSeconds(pid), 0);
  return {
    seconds: performance.now() / 1000,
    transactions,
    walBytes,
    nodeSeconds: sum(world.nodes.map(({ pid }) => pid)),
    postgresSeconds: familyProcessorSeconds(postgresPid),
    natsSeconds: sum((world.nats?.servers ?? []).map(({ pid }) => pid)),
  };
}

/**
 * A connection adds its transactions to the statistics when it is used, closed, or idle for ten seconds. So
 * the counts are exact only after the nodes have stopped; over a longer time the difference is small.
 */
export async function readCounters(world: World): Promise<Counters> {
  const [row] = await ownerSql<Record<keyof Counters, string>>(
    world.database.url,
    `SELECT xact_commit + xact_rollback AS "transactions", deadlocks,
            pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') AS "walBytes"
       FROM pg_stat_database WHERE datname = current_database()`,
  );
  return {
    transactions: Number(row!.transactions),
    deadlocks: Number(row!.deadlocks),
    walBytes: Number(row!.walBytes),
  };
}

/** How often statements were run, by their ids. */
export type Statements = Map<string, number>;

/**
 * How often nodes have run each statement so far, by its id: exactly, and without those that only begin a
 * transaction. The world must have been opened with `countsQueries`.
 */
export async function readStatements(world: World): Promise<Statements> {
  const rows = await ownerSql<{ queryid: string; calls: string }>(
    world.database.url,
    `CREATE EXTENSION IF NOT EXISTS pg_stat_statements;
     SELECT queryid, sum(calls) AS calls FROM pg_stat_statements
      WHERE userid::regrole::text IN ('hawser_app', 'hawser_system')
        AND query NOT LIKE '%set_config(%'
      GROUP BY queryid`,
  );
  return new Map(rows.map(({ queryid, calls }) => [queryid, Number(calls)]));
}

/** The cost of an hour at the same rate. */
export function perHour(cost: Cost): Quantities {
  return scaled(cost, 3600 / cost.seconds);
}

export function scaled(cost: Quantities, factor: number): Quantities {
  const entries = quantities.map((quantity) => [quantity, cost[quantity] * factor]);
  return Object.fromEntries(entries) as Quantities;
}

export function minus(cost: Quantities, other: Quantities): Quantities {
  const entries = quantities.map((quantity) => [quantity, cost[quantity] - other[quantity]]);
  return Object.fromEntries(entries) as Quantities;
}

/** One line for people who watch the progress. */
export function describe(cost: Quantities): string {
  const { transactions, walBytes, nodeSeconds, postgresSeconds, natsSeconds } = cost;
  const cpu = [nodeSeconds, postgresSeconds, natsSeconds].map((each) => each.toFixed(2)).join("/");
  return (
    `${transactions.toFixed(1)} transactions, ${(walBytes / 1024).toFixed(1)} KiB of WAL, ` +
    `${cpu} s of node/PostgreSQL/NATS`
  );
}
