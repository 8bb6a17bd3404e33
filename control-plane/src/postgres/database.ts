// The node's connections to PostgreSQL, and the two ways to use them. Only this folder imports the
// driver.
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
  /** Statements of one organization: each call is its own transaction, in one round trip. */
  tenant(whose: Tenant): TenantSql;
  /** Runs `work` in one transaction of one organization: committed when it returns, rolled back when it throws. */
  tenantTransaction<T>(whose: Tenant, work: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  system: SystemSql;
  systemTransaction<T>(work: (tx: SystemTransaction) => Promise<T>): Promise<T>;
}

/**
 * Whose rows are visible: an organization's, or those that one of its callers reaches. Pass the caller
 * wherever there is one: an agent's key reaches only its own sessions (decision 0033).
 */
export type Tenant = string | { organizationId: string; sessionId: string | null };

/**
 * A transaction saves round trips: a statement that is sent with `later` travels with the next one, or
 * with COMMIT.
 */
export interface Transaction extends Sql {
  later(statement: Statement<unknown>, ...values: unknown[]): void;
  /** Runs `work` once the transaction is committed; not at all if it is rolled back. */
  afterCommit(work: () => void): void;
  /** Runs `work`. If it throws, undoes only what `work` did, and throws the error again. */
  savepoint<T>(work: () => Promise<T>): Promise<T>;
}

export type TenantTransaction = Transaction & TenantSql;

/** A transaction across organizations, which accepts only system statements. */
export interface SystemTransaction extends SystemSql {
  later(statement: SystemStatement<unknown>, ...values: unknown[]): void;
}

export interface DatabaseSettings {
  url: string;
  /** Connections for callers; the system role has a few in addition. */
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
const setTenant = statement(
  `SELECT set_config('hawser.organization_id', $1, true), set_config('hawser.agent_session_id', $2, true)`,
);

export function openDatabase(settings: DatabaseSettings): Database {
  const app = openPool(settings, "hawser_app", settings.connections);
  const system = openPool(settings, "hawser_system", 4);
  const { patienceMs } = settings;
  return {
    tenant(whose) {
      const of = tenantOf(whose);
      const tenantSet = query(setTenant, of.organizationId, of.agentSessionId ?? "");
      return {
        ...of,
        ...sqlFrom(async (queries) =>
          (await runOnce(app, [tenantSet, ...queries], patienceMs)).slice(1),
        ),
      };
    },
    tenantTransaction(whose, work) {
      const of = tenantOf(whose);
      const tenantSet = query(setTenant, of.organizationId, of.agentSessionId ?? "");
      const opening = [query(begin), tenantSet];
      return inTransaction(app, opening, patienceMs, (tx) => work({ ...of, ...tx }));
    },
    system: sqlFrom((queries) => runOnce(system, queries, patienceMs)),
    systemTransaction: (work) => inTransaction(system, [query(begin)], patienceMs, work),
    async [Symbol.asyncDispose]() {
      await Promise.all([app.end(), system.end()]);
    },
  };
}

function tenantOf(whose: Tenant): Pick<TenantSql, "organizationId" | "agentSessionId"> {
  return typeof whose === "string"
    ? { organizationId: whose, agentSessionId: null }
    : { organizationId: whose.organizationId, agentSessionId: whose.sessionId };
}

function openPool(settings: DatabaseSettings, role: string, max: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: settings.url,
    max,
    connectionTimeoutMillis: settings.patienceMs,
    application_name: `hawser ${role}`,
    options: [
      `-c role=${role}`,
      // Every statement is written for one index, whatever its values. By default, PostgreSQL plans the
      // listings at each call, because it cannot know how small their LIMIT is (decision 0004).
      "-c plan_cache_mode=force_generic_plan",
      `-c statement_timeout=${settings.patienceMs}`,
      `-c idle_in_transaction_session_timeout=${settings.patienceMs * 2}`,
      "-c TimeZone=UTC",
      "-c DateStyle=ISO",
    ].join(" "),
  });
  pool.on("error", settings.onIdleError);
  // Listen for errors of a client in use: an error without a listener ends the process. The query that
  // it runs, or runs next, fails.
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
    // A connection in an unknown state is closed, never passed to the next caller.
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
 * The database cannot be reached or does not answer. If the connection was lost during COMMIT, it is
 * unknown whether the transaction committed; a retry with the same idempotency key finds out.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super("PostgreSQL is not reachable or does not answer.", { cause });
    this.name = "DatabaseUnavailable";
  }
}

/** A statement timed out while it waited for a lock of another transaction. */
export class LockTimeout extends DatabaseUnavailable {}

/** A statement ran for too long: the database is slow, or the statement is too expensive. */
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
