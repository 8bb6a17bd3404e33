// Kills a command of the control plane while the server carries out its COMMIT, and then lets the server
// commit or roll back. Both happen in production, and the command learns of neither.
import { spawn } from "node:child_process";
import pg from "pg";
import { mainFile } from "./main-file.ts";
import { nodeEnvironment } from "./node-environment.ts";
import { stopProcess } from "./stop-process.ts";
import { until } from "./until.ts";

interface Killed {
  databaseUrl: string;
  /** The COMMIT of a transaction that inserts into this table is held. */
  table: string;
  /** The command with its arguments. */
  args: string[];
  environment?: Record<string, string>;
  outcome: "committed" | "rolled back";
}

const main = mainFile("control-plane");
const lockKey = 4711;
const patienceMs = 60_000;

export async function killInCommit(killed: Killed): Promise<void> {
  const { databaseUrl, table, args, environment, outcome } = killed;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query(
    `CREATE FUNCTION wait_in_commit() RETURNS trigger LANGUAGE plpgsql AS
       'BEGIN PERFORM pg_advisory_xact_lock(${lockKey}); RETURN NULL; END';
     CREATE CONSTRAINT TRIGGER wait_in_commit AFTER INSERT ON ${table}
       DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_in_commit();
     SELECT pg_advisory_lock(${lockKey})`,
  );
  const child = spawn(process.execPath, [main, ...args], {
    stdio: ["ignore", "ignore", "inherit"],
    env: {
      ...nodeEnvironment(),
      HAWSER_DATABASE_URL: databaseUrl,
      HAWSER_DATABASE_PATIENCE_MS: `${patienceMs}`,
      ...environment,
    },
  });
  let waiting: number | undefined;
  try {
    await until(
      `the commit of ${args[0]}`,
      async () => (waiting = await findWaiting(client)) !== undefined,
      patienceMs,
    );
  } finally {
    await stopProcess(child, "SIGKILL");
    if (outcome === "rolled back") await client.query("SELECT pg_terminate_backend($1)", [waiting]);
    await client.query("SELECT pg_advisory_unlock($1)", [lockKey]);
    await until("the end of its connection", () => isGone(client, waiting), patienceMs);
    await client.query("DROP FUNCTION wait_in_commit CASCADE");
    await client.end();
  }
}

async function findWaiting(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ pid: number }>(
    `SELECT pid FROM pg_locks
      WHERE locktype = 'advisory' AND objid = $1 AND NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [lockKey],
  );
  return rows[0]?.pid;
}

async function isGone(client: pg.Client, pid: number | undefined): Promise<boolean> {
  const { rowCount } = await client.query("SELECT FROM pg_stat_activity WHERE pid = $1", [pid]);
  return rowCount === 0;
}
