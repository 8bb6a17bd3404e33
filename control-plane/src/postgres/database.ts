// The node's connections to PostgreSQL, and the two ways to use them. Only this folder imports the
// driver.
//
//   tenant   as hawser_app, under row-level security, for one organization at a time
//   system   as hawser_system, across organizations, for the few paths that must
//
// Each kind of system work has its own connections, so that work that waits for a lock does not delay work
// of another kind (decision 0043).
import { grantLevels, type GrantLevel } from "@hawser/contract";
import { NoAnswer, runBatch } from "./batch.ts";
import { openPool, readOnlyCode, type Pool, type PoolSettings } from "./pool.ts";
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

export interface Database extends SystemDatabase, AsyncDisposable {
  /** Statements of one organization: each call is its own transaction, in one round trip. */
  tenant(whose: Tenant): TenantSql;
  /** Runs `work` in one transaction of one organization: committed when it returns, rolled back when it throws. */
  tenantTransaction<T>(whose: Tenant, work: (tx: TenantTransaction) => Promise<T>): Promise<T>;
  /** The same as `system` and `systemTransaction`, with the connections of one kind of work. */
  connectionsFor(work: SystemWork): SystemDatabase;
}

/** Statements across organizations. A database uses the connections for upkeep, unless `connectionsFor` is called. */
export interface SystemDatabase {
  system: SystemSql;
  systemTransaction<T>(work: (tx: SystemTransaction) => Promise<T>): Promise<T>;
  /** The same connections. A wait for a lock of another transaction throws LockTimeout after `lockMs`. */
  waitingAtMost(lockMs: number): SystemDatabase;
}

/**
 * sign-in: find out who calls, a key or a host. intake: store reports. presence: store what hosts say about
 * themselves, and their connections. deliveries: record what is sent to triggers. accounts: people's accounts and
 * sign-ins, as hawser_sign_in. upkeep: everything else.
 */
export type SystemWork = "sign-in" | "intake" | "presence" | "deliveries" | "accounts" | "upkeep";

/** Maximum number of connections. The intake writes in two lanes. */
const systemConnections: Record<SystemWork, number> = {
  "sign-in": 3,
  intake: 2,
  presence: 5,
  deliveries: 3,
  accounts: 3,
  upkeep: 4,
};

/**
 * Whose rows are visible: an organization's, or those that one of its callers reaches. Pass the caller
 * wherever there is one: an agent's key reaches only its own sessions (decision 0033).
 */
export type Tenant =
  | string
  | {
      organizationId: string;
      sessionId: string | null;
      userId?: string | null;
      /** Only what was granted to the user at this level or a higher one (decision 0082). */
      grantedAt?: GrantLevel | undefined;
    };

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

export interface DatabaseSettings extends PoolSettings {
  /** Connections for callers; the system role has some in addition. */
  connections: number;
  /** Called with the time for which work waited for a connection. */
  onWait?: (pool: PoolName, seconds: number) => void;
}

type PoolName = "callers" | SystemWork;

function roleOf(name: PoolName): string {
  if (name === "callers") return "hawser_app";
  return name === "accounts" ? "hawser_sign_in" : "hawser_system";
}

const begin = statement("BEGIN");
const commit = statement("COMMIT");
const rollback = statement("ROLLBACK");
const setSavepoint = statement("SAVEPOINT work");
const rollbackToSavepoint = statement("ROLLBACK TO SAVEPOINT work");
const setTenant = statement(
  `SELECT set_config('hawser.organization_id', $1, true), set_config('hawser.agent_session_id', $2, true),
          set_config('hawser.granted_user_id', $3, true), set_config('hawser.grant_levels', $4, true)`,
);

const setLockTimeout = statement(`SELECT set_config('lock_timeout', $1, true)`);

/** A server that is read-only for longer is noticed again, and all connections are opened again. */
const renewEveryMs = 1_000;

export function openDatabase(settings: DatabaseSettings): Database {
  const { patienceMs, onWait = () => {} } = settings;
  const sizes = { callers: settings.connections, ...systemConnections };
  const open = (name: PoolName): Pool =>
    openPool(settings, {
      role: roleOf(name),
      most: sizes[name],
      onWait: (seconds) => onWait(name, seconds),
    });
  const pools = new Map((Object.keys(sizes) as PoolName[]).map((name) => [name, open(name)]));
  let renewedAt = -Infinity;

  /** The other connections lead to the same server, which may have ceased to be the primary. */
  function readOnly(): void {
    if (performance.now() - renewedAt < renewEveryMs) return;
    renewedAt = performance.now();
    for (const pool of pools.values()) pool.renew();
  }

  const connectionsOf = (name: PoolName) => ({ pool: pools.get(name)!, patienceMs, readOnly });
  const callersOf = (organizationId: string) => ({
    ...connectionsOf("callers"),
    organizationId,
  });
  return {
    tenant(whose) {
      const of = tenantOf(whose);
      const tenantSet = setTenantTo(whose);
      return { ...of, ...sqlAfter(callersOf(of.organizationId), [tenantSet]) };
    },
    tenantTransaction(whose, work) {
      const of = tenantOf(whose);
      const tenantSet = setTenantTo(whose);
      const opening = [query(begin), tenantSet];
      return inTransaction(callersOf(of.organizationId), opening, (tx) => work({ ...of, ...tx }));
    },
    ...systemDatabase(connectionsOf("upkeep")),
    connectionsFor: (work) => systemDatabase(connectionsOf(work)),
    async [Symbol.asyncDispose]() {
      await Promise.all([...pools.values()].map((pool) => pool.end()));
    },
  };
}

interface Connections {
  pool: Pool;
  patienceMs: number;
  /** Called when a write was refused because the server is read-only. */
  readOnly: () => void;
  /** Whose statements these are; undefined for the system's own. */
  organizationId?: string;
}

function systemDatabase(connections: Connections, opening: Query<unknown>[] = []): SystemDatabase {
  return {
    system: sqlAfter(connections, opening),
    systemTransaction: (work) => inTransaction(connections, [query(begin), ...opening], work),
    waitingAtMost: (lockMs) => systemDatabase(connections, [query(setLockTimeout, `${lockMs}ms`)]),
  };
}

/** Runs `opening` before each batch, in the same round trip and transaction. */
function sqlAfter(connections: Connections, opening: Query<unknown>[]): Sql {
  return sqlFrom(async (queries) =>
    (await runOnce(connections, [...opening, ...queries])).slice(opening.length),
  );
}

function tenantOf(whose: Tenant): Omit<TenantSql, keyof Sql> {
  if (typeof whose === "string") {
    return { organizationId: whose, agentSessionId: null, grantedUserId: null };
  }
  const { organizationId, sessionId, userId, grantedAt } = whose;
  const grantedUserId = grantedAt === undefined ? null : (userId ?? nobody);
  return { organizationId, agentSessionId: sessionId, grantedUserId };
}

/** A caller without a user has no grants. */
const nobody = "00000000-0000-0000-0000-000000000000";

function setTenantTo(whose: Tenant): Query<unknown> {
  const { organizationId, agentSessionId, grantedUserId } = tenantOf(whose);
  const level = typeof whose === "string" ? undefined : whose.grantedAt;
  const levels = level === undefined ? [] : grantLevels.slice(grantLevels.indexOf(level));
  return query(
    setTenant,
    organizationId,
    agentSessionId ?? "",
    grantedUserId ?? "",
    `{${levels.join(",")}}`,
  );
}

async function runOnce(connections: Connections, queries: Query<unknown>[]) {
  const { pool, patienceMs, readOnly, organizationId } = connections;
  const client = await connect(pool, organizationId);
  let isBroken = false;
  try {
    return await runBatch(client, queries, patienceMs);
  } catch (cause) {
    isBroken = isUseless(cause);
    throw translate(cause, readOnly);
  } finally {
    pool.release(client, isBroken);
  }
}

async function inTransaction<T>(
  { pool, patienceMs, readOnly, organizationId }: Connections,
  opening: Query<unknown>[],
  work: (tx: Transaction) => Promise<T>,
): Promise<T> {
  const client = await connect(pool, organizationId);
  let unsent = [...opening];
  let begun = false;
  let isBroken = false;
  const afterwards: (() => void)[] = [];
  const sql = sqlFrom(async (queries) => {
    const before = unsent;
    unsent = [];
    begun = true;
    try {
      return (await runBatch(client, [...before, ...queries], patienceMs)).slice(before.length);
    } catch (cause) {
      isBroken ||= isUseless(cause);
      throw translate(cause, readOnly);
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
  try {
    const result = await work(tx);
    if (begun || unsent.length > opening.length) await sql.rows(commit);
    for (const run of afterwards) run();
    return result;
  } catch (error) {
    if (begun && !isBroken) {
      await runBatch(client, [query(rollback)], patienceMs).catch(() => (isBroken = true));
    }
    throw error;
  } finally {
    pool.release(client, isBroken);
  }
}

async function connect(pool: Pool, organizationId: string | undefined) {
  try {
    return await pool.connect(organizationId);
  } catch (cause) {
    throw codeOf(cause) === readOnlyCode
      ? new ReadOnlyDatabase(cause)
      : new DatabaseUnavailable(cause);
  }
}

/**
 * The database cannot be reached or does not answer. If the connection was lost during COMMIT, it is
 * unknown whether the transaction committed; a retry with the same idempotency key finds out.
 */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown, message = "PostgreSQL is not reachable or does not answer.") {
    super(message, { cause });
    this.name = "DatabaseUnavailable";
  }
}

/** A statement timed out while it waited for a lock of another transaction. */
export class LockTimeout extends DatabaseUnavailable {}

/** A statement ran for too long: the database is slow, or the statement is too expensive. */
export class StatementTimeout extends DatabaseUnavailable {}

/** The server refuses writes: it is a standby, or its operator has made it read-only. */
export class ReadOnlyDatabase extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause, "PostgreSQL is read-only.");
  }
}

/** Whether the connection cannot be used again after this error of a batch. */
const isUseless = (error: unknown) => error instanceof NoAnswer || codeOf(error) === readOnlyCode;

const codeOf = (error: unknown) => (error as { code?: string }).code ?? "";

/** Translates an error of the driver. Calls `readOnly` if the server refused a write. */
function translate(error: unknown, readOnly: () => void): unknown {
  const code = codeOf(error);
  if (error instanceof NoAnswer) return new DatabaseUnavailable(error);
  if (code === "55P03") return new LockTimeout(error);
  if (code === "57014") return new StatementTimeout(error);
  if (code === readOnlyCode) {
    readOnly();
    return new ReadOnlyDatabase(error);
  }
  const passing =
    // 08 connection, 40 rolled back to break a deadlock, 53 resources, 57P shutdown, 25P03 a
    // time-out; E… are the socket's own.
    /^(08|40|53|57P|25P03|E[A-Z]+)/.test(code) ||
    /^(Connection terminated|Client has encountered a connection error)/.test(
      (error as Error).message,
    );
  return passing ? new DatabaseUnavailable(error) : error;
}
