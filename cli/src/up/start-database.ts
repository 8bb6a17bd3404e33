// The first part that `hawser up` starts: PostgreSQL, with a check of the data that it finds.
import { existsSync } from "node:fs";
import { checkDataVersion } from "../backup/data-version.ts";
import { checkSchemaVersion } from "../backup/schema-version.ts";
import { upgradeToNewest } from "../backup/upgrade-database.ts";
import { CommandFailed } from "../command-failed.ts";
import { findPostgres } from "../engines/find-postgres.ts";
import { readSettings, type Settings } from "../settings.ts";
import { companyDatabase, ownDatabase, type Database } from "./database.ts";
import {
  clusterMajor,
  clusterOf,
  ensureCluster,
  postgresPart,
  socketDirectory,
} from "./postgres.ts";
import { awaitPostmaster } from "./postmaster.ts";
import type { Progress } from "./progress.ts";
import { isSetUp, keyFileOf } from "./set-up.ts";
import type { Supervisor } from "./supervise.ts";

export interface DatabaseStart {
  data: string;
  pack: string;
  progress: Progress;
  supervisor: Supervisor;
  settings: Settings;
}

/** Starts this machine's own cluster, or names the PostgreSQL that an operator has set. */
export async function startDatabase({
  data,
  pack,
  progress,
  supervisor,
  settings,
}: DatabaseStart): Promise<Database> {
  if (settings.postgresUrl) {
    if (clusterMajor(data) !== undefined && readSettings(data).postgresUrl === undefined) {
      throw new CommandFailed(
        `${clusterOf(data)} contains the data of this service, and --postgres-url would start an empty one. Dump it while Hawser runs (pg_dumpall --roles-only, and pg_dump of "$(hawser db url)"), load both into the other server as its administrator, with the database hawser, and move ${clusterOf(data)} to another place. Then run this again.`,
      );
    }
    progress.say(`PostgreSQL is that of --postgres-url, at ${new URL(settings.postgresUrl).host}.`);
    return companyDatabase(data, settings.postgresUrl);
  }
  const major = clusterMajor(data);
  const postgres = await findPostgres({
    dataDirectory: data,
    packageDirectory: pack,
    ...(major !== undefined && { major }),
    onProgress: progress.say,
  });
  checkDataVersion(data, { majors: [postgres.major] });
  await progress.during(
    `Making a PostgreSQL ${postgres.major} cluster`,
    ensureCluster(data, postgres),
  );
  await progress.during("Starting PostgreSQL", supervisor.start(postgresPart(data, postgres)));
  progress.say(`PostgreSQL ${postgres.version} runs.`);
  const database = ownDatabase(data);
  // The service was set up before, perhaps by a newer version of this program.
  if (existsSync(keyFileOf(data)) && !isSetUp(pack, settings, database)) {
    await checkSchemaVersion({ postgres, socketDirectory: socketDirectory(data) }, pack);
  }
  return database;
}

/** No-op if there is no cluster yet, or if it has the newest version. */
export async function upgradeDatabase(
  data: string,
  pack: string,
  progress: Progress,
): Promise<void> {
  if (clusterMajor(data) === undefined) return;
  await awaitPostmaster(clusterOf(data));
  const options = { dataDirectory: data, packageDirectory: pack, onProgress: progress.say };
  const old = await progress.during("Upgrading the database", upgradeToNewest(options));
  if (old !== undefined) progress.say(`The former cluster is kept in ${old}.`);
}
