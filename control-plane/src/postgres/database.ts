// The node's connections to PostgreSQL, and the two ways to use them. This folder is the only one
// that imports the driver.
//
//   tenant   as hawser_app, under row-level security, for one organization at a time
//   system   as hawser_system, across organizations, for the few paths that must
import pg from "pg";
import { NoAnswer, runBatch } from "./batch.ts";
import {
  query,
  sqlFrom,
  statement,
  type Query,
  type Sql,
  type Statement,
  type SystemSql,
  type SystemStatement,
  type TenantSql,
} from "./statement.ts";

export interface Database extends AsyncDisposable {
  /** Statements of one organization: each call is a transaction of its own, in one round trip. */
  tenant(organizationId: string): TenantSql;
  /** Runs `work` in one transaction of one organization: committed when it returns, rolled back when it throws. */
  tenantTransaction<T>(
    organizationId: string,
    work: (tx: TenantTransaction) => Promise<T>,
  ): Promise<T>;
  system: SystemSql;
  systemTransaction<T>(work: (tx: SystemTransaction) => Promise<T>): Promise<T>;
}

/** A transaction saves round trips: what is sent `later` travels with the next statement, or with COMMIT. */
export interface Transaction extends Sql {
  later(statement: Statement<unknown>, ...values: unknown[]): void;
  /** Runs `work` once the transaction is committed, and not at all when it is not. */
  afterCommit(work: () => void): void;
  /** Runs `work`; when it throws, undoes what it did and nothing else, and throws on. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

export type TenantTransaction = Transaction & TenantSql;

/** A transaction across organizations; takes only statements made for that. */
export interface SystemTransaction extends SystemSql {
  later(statement: SystemStatement<unknown>, ...values: unknown[]): void;
}

export interface DatabaseSettings {
  url: string;
  /** Connections for callers; the system role has a few of its own. */
  connections: number;
  /** How long a statement, or the wait for a connection, may take. */
  patienceMs: number;
  onIdleError: (error: Error) => void;
}

const begin = statement("BEGIN");
const commit = statement("COMMIT");
const rollback = statement("ROLLBACK");
const setSavepoint = statement("SAVEPOINT work");
const rollbackToSavepoint = statement("ROLLBACK TO SAVEPOINT work");
const setOrganization = statement(`SELECT set_config('hawser.organization_id', $1, true)`);

export function openDatabase(settings: DatabaseSettings): Database {
  const app = openPool(settings, "hawser_app", settings.connections);
  const system = openPool(settings, "hawser_system", 4);
  const { patienceMs } = settings;
  return {
    tenant(organizationId) {
      const tenantSet = query(setOrganization, organizationId);
      return {
        organizationId,
        ...sqlFrom(async (queries) =>
          (await runOnce(app, [tenantSet, ...queries], patienceMs)).slice(1),
        ),
      };
    },
    tenantTransaction(organizationId, work) {
      const opening = [query(begin), query(setOrganization, organizationId)];
      return inTransaction(app, opening, patienceMs, (tx) => work({ organizationId, ...tx }));
    },
    system: sqlFrom((queries) => runOnce(system, queries, patienceMs)),
    systemTransaction: (work) => inTransaction(system, [query(begin)], patienceMs, work),
    async [Symbol.asyncDispose]() {
      await Promise.all([app.end(), system.end()]);
    },
  };
}

function openPool(settings: DatabaseSettings, role: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: settings.url,
    max,
    connectionTimeoutMillis: settings.patienceMs,
    application_name: `hawser ${role}`,
    options: [
      `-c role=${role}`,
      // Every statement is written for one index, whatever its values. Left to itself PostgreSQL plans
      // the listings anew at each call, because it cannot know how small their LIMIT is (decision 0004).
      "-c plan_cache_mode=force_generic_plan",
      `-c statement_timeout=${settings.patienceMs}`,
      `-c idle_in_transaction_session_timeout=${settings.patienceMs * 2}`,
      "-c TimeZone=UTC",
      "-c DateStyle=ISO",
    ].join(" "),
  });
  pool.on("error", settings.onIdleError);
  // Of a client in use nobody else listens, and an error that nobody listens to ends the process. The
  // query it has, or gets next, fails with it.
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

async function runOnce(pool: pg.Pool, queries: Query<unknown>[], patienceMs: number) {
  const client = await connect(pool);
  try {
    const results = await runBatch(client, queries, patienceMs);
    client.release();
    return results;
  } catch (error) {
    client.release(error instanceof NoAnswer);
    throw asDatabaseError(error);
  }
}

async function inTransaction<T>(
  pool: pg.Pool,
  opening: Query<unknown>[],
  patienceMs: number,
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await connect(pool);
  let unsent = [...opening];
  let begun = false;
  const afterwards: (() => void)[] = [];
  const sql = sqlFrom(async (queries) => {
    const before = unsent;
    unsent = [];
    begun = true;
    try {
      return (await runBatch(client, [...before, ...queries], patienceMs)).slice(before.length);
    } catch (error) {
      throw asDatabaseError(error);
    }
  });
  const tx: Transaction = {
    ...sql,
    later(statement, ...values) {
      unsent.push({ statement, values });
    },
    afterCommit(work) {
      afterwards.push(work);
    },
    async savepoint(inner) {
      const before = afterwards.length;
      tx.later(setSavepoint);
      try {
        return await inner();
      } catch (error) {
        tx.later(rollbackToSavepoint);
        afterwards.length = before;
        throw error;
      }
    },
  };
  let broken = false;
  try {
    const result = await work(tx);
    if (begun || unsent.length > opening.length) await sql.rows(commit);
    for (const run of afterwards) run();
    return result;
  } catch (error) {
    if (begun) await runBatch(client, [query(rollback)], patienceMs).catch(() => (broken = true));
    throw error;
  } finally {
    // A connection whose state is not known is closed, never handed to the next caller.
    client.release(broken);
  }
}

async function connect(pool: pg.Pool): Promise<pg.PoolClient> {
  try {
    return await pool.connect();
  } catch (cause) {
    throw new DatabaseUnavailable(cause);
  }
}

/**
 * The database cannot be reached or does not answer. When the connection was lost during COMMIT,
 * nobody here knows whether it happened; a retry with the same idempotency key finds out.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super("PostgreSQL is not reachable or does not answer.", { cause });
    this.name = "DatabaseUnavailable";
  }
}

/** A statement gave up waiting for a lock that another transaction holds. */
export class LockTimeout extends DatabaseUnavailable {}

/** A statement ran for too long: the database is slow, or this one asks too much of it. */
export class StatementTimeout extends DatabaseUnavailable {}

function asDatabaseError(error: unknown): unknown {
  if (error instanceof NoAnswer) return new DatabaseUnavailable(error);
  const { code = "", message } = error as Error & { code?: string };
  if (code === "55P03") return new LockTimeout(error);
  if (code === "57014") return new StatementTimeout(error);
  const passing =
    // 08 connection, 40 rolled back to break a deadlock, 53 resources, 57P shutdown, 25P03 a
    // time-out; E… are the socket's own.
    /^(08|40|53|57P|25P03|E[A-Z]+)/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error)/.test(message);
  return passing ? new DatabaseUnavailable(error) : error;
}
