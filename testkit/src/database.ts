// A database for one test file or one world: cloned from a migrated template, in the cluster that the test
// run shares, or in a cluster that this process starts.
import { randomBytes } from "node:crypto";
import { migrate } from "@hawser/control-plane/postgres/migrate.ts";
import pg from "pg";
import { startPostgres, type PostgresCluster } from "./postgres.ts";

export interface TestDatabase extends AsyncDisposable {
  /** Connects as the owner of the tables. */
  url: string;
  /** Process id of the cluster; undefined if the test run shares it. */
  postgresPid: number | undefined;
}

/** The environment variable with the address of the cluster that the test run shares. */
const sharedCluster = "HAWSER_TEST_POSTGRES";

const template = "hawser_template";

/** A migrated database. */
export function createDatabase(cluster?: PostgresCluster): Promise<TestDatabase> {
  return create(cluster, async (admin, clusterUrl, name) => {
    // One file at a time: a template cannot be copied while someone is connected to it.
    await admin.query("SELECT pg_advisory_lock(1)");
    const found = await admin.query("SELECT FROM pg_database WHERE datname = $1", [template]);
    if (found.rowCount === 0) {
      await admin.query(`CREATE DATABASE ${template}_unfinished`);
      await migrate(withDatabase(clusterUrl, `${template}_unfinished`));
      await admin.query(`ALTER DATABASE ${template}_unfinished RENAME TO ${template}`);
    }
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
}

/** An empty database. */
export function createEmptyDatabase(): Promise<TestDatabase> {
  return create(undefined, (admin, _clusterUrl, name) => admin.query(`CREATE DATABASE ${name}`));
}

async function create(
  cluster: PostgresCluster | undefined,
  make: (admin: pg.Client, clusterUrl: string, name: string) => Promise<unknown>,
): Promise<TestDatabase> {
  const shared = process.env[sharedCluster];
  const own = cluster ?? (shared ? undefined : await startPostgres());
  const clusterUrl = own?.url ?? shared!;
  const name = `hawser_${randomBytes(6).toString("hex")}`;
  await withAdmin(clusterUrl, (admin) => make(admin, clusterUrl, name));
  return {
    url: withDatabase(clusterUrl, name),
    postgresPid: own?.pid,
    async [Symbol.asyncDispose]() {
      if (own) await own[Symbol.asyncDispose]();
      else
        await withAdmin(clusterUrl, (admin) => admin.query(`DROP DATABASE ${name} WITH (FORCE)`));
    },
  };
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function withAdmin(url: string, work: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client({ connectionString: url });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}
