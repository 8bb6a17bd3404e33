// A fresh database with the service's own connection pool, for tests below the HTTP layer.
import { openDatabase, type Database } from "@hawser/control-plane/postgres/database.ts";
import { createDatabase } from "./database.ts";
import type { PostgresCluster } from "./postgres.ts";

export interface ServiceDatabase extends AsyncDisposable {
  /** Connects as the owner of the tables. */
  url: string;
  database: Database;
}

export async function openServiceDatabase(
  settings: {
    connections?: number;
    patienceMs?: number;
    /** The database is created in this cluster, which ends with it. By default, in that of the test run. */
    cluster?: PostgresCluster;
  } = {},
): Promise<ServiceDatabase> {
  const made = await createDatabase(settings.cluster);
  const database = openDatabase({
    url: made.url,
    connections: settings.connections ?? 4,
    patienceMs: settings.patienceMs ?? 5_000,
    onIdleError: () => {},
  });
  return {
    url: made.url,
    database,
    async [Symbol.asyncDispose]() {
      await database[Symbol.asyncDispose]();
      await made[Symbol.asyncDispose]();
    },
  };
}
