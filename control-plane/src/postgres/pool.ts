// Connections to PostgreSQL as one role, for one kind of work.
//
// Guarantee: a connection in an unknown state, or one that may lead to a server that is not the primary, is
// closed and never passed to the next caller.
import pg from "pg";
import { runBatch } from "./batch.ts";
import { createFairShare } from "./fair-share.ts";
import { query, statement } from "./statement.ts";

export interface Pool {
  /** Throws if no connection is available in time. `organizationId`: whose share it counts against. */
  connect(organizationId?: string): Promise<pg.PoolClient>;
  /** `isBroken`: closes the connection. */
  release(client: pg.PoolClient, isBroken: boolean): void;
  /** Closes every connection that is open now, as soon as it is not in use. */
  renew(): void;
  end(): Promise<void>;
}

export interface PoolSettings {
  url: string;
  /** How long a statement, or the wait for a connection, may take. */
  patienceMs: number;
  onIdleError: (error: Error) => void;
}

interface PoolPurpose {
  role: string;
  /** Maximum number of connections. */
  most: number;
  /** Called with the time for which a caller waited for a connection. */
  onWait: (seconds: number) => void;
}

/** SQLSTATE of a write in a read-only transaction. On a standby every transaction is read-only. */
export const readOnlyCode = "25006";

export function openPool(settings: PoolSettings, { role, most, onWait }: PoolPurpose): Pool {
  const { patienceMs } = settings;
  const pool = new pg.Pool({
    connectionString: settings.url,
    max: most,
    // The last connection stays open when it is idle: other users of the server may leave no free one, and
    // work of this kind would stop. A network may forget idle connections, so they are kept alive.
    min: 1,
    keepAlive: true,
    keepAliveInitialDelayMillis: 30_000,
    connectionTimeoutMillis: patienceMs,
    application_name: `hawser ${role}`,
    options: [
      `-c role=${role}`,
      // Every statement is written for one index, whatever its values. By default, PostgreSQL plans the
      // listings at each call, because it cannot know how small their LIMIT is (decision 0004).
      "-c plan_cache_mode=force_generic_plan",
      `-c statement_timeout=${patienceMs}`,
      `-c idle_in_transaction_session_timeout=${patienceMs * 2}`,
      "-c TimeZone=UTC",
      "-c DateStyle=ISO",
    ].join(" "),
    verify: (client, end) => void refuseStandby(client, patienceMs).then(() => end(), end),
  });
  let generation = 0;
  const generations = new WeakMap<pg.ClientBase, number>();
  const isOld = (client: pg.PoolClient) => generations.get(client) !== generation;
  const share = createFairShare(most, patienceMs);
  const leaves = new WeakMap<pg.PoolClient, () => void>();
  pool.on("error", settings.onIdleError);
  pool.on("connect", (client) => {
    generations.set(client, generation);
    // Listen for errors of a client in use: an error without a listener ends the process. The query that
    // it runs, or runs next, fails.
    client.on("error", () => {});
  });
  return {
    async connect(organizationId) {
      const startedAt = performance.now();
      const leave = organizationId === undefined ? undefined : await share.enter(organizationId);
      try {
        for (;;) {
          const client = await pool.connect();
          if (!isOld(client)) {
            if (leave) leaves.set(client, leave);
            onWait((performance.now() - startedAt) / 1000);
            return client;
          }
          client.release(true);
        }
      } catch (error) {
        leave?.();
        throw error;
      }
    },
    release(client, isBroken) {
      client.release(isBroken || isOld(client));
      leaves.get(client)?.();
      leaves.delete(client);
    },
    renew: () => void (generation += 1),
    end: () => pool.end(),
  };
}

const selectStandby = statement<{ standby: boolean }>(`SELECT pg_is_in_recovery() AS standby`);

/**
 * Throws if the server is a standby, which answers reads with data that may be old, and refuses writes. The
 * address of the database can lead to one for a while after a switch-over.
 */
async function refuseStandby(client: pg.ClientBase, patienceMs: number): Promise<void> {
  const [rows] = await runBatch(client, [query(selectStandby)], patienceMs);
  if (!rows![0]!["standby"]) return;
  const error = new Error("This PostgreSQL server is a standby.");
  throw Object.assign(error, { code: readOnlyCode });
}
