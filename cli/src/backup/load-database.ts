// Fills a new cluster with a dump and its roles. The cluster has no other use until it is complete, so it runs
// without waiting for the disk and is flushed at its end.
import { once } from "node:events";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";
import { flushCluster, makeCluster, startCluster, unsafeUntilFlushed } from "./cluster.ts";
import {
  connectionOptions,
  databaseName,
  runSql,
  startProgram,
  superuser,
  type Server,
} from "./run-program.ts";

export interface Loading {
  postgres: Postgres;
  /** Where the cluster is made. */
  directory: string;
  /** As `pg_dumpall --roles-only` writes them. */
  roles: string;
  /** As `pg_dump --format=custom --compress=0` writes it. */
  dump: Readable;
  /** Runs in the database when everything is in it. */
  after?: (server: Server) => Promise<void>;
}

export async function loadDatabase(loading: Loading): Promise<void> {
  const { postgres, directory, roles, dump, after } = loading;
  await makeCluster(postgres, directory);
  {
    await using server = await startCluster(postgres, directory, unsafeUntilFlushed);
    await runSql(server, readRoles(roles), "postgres");
    await runSql(server, `CREATE DATABASE ${databaseName} OWNER hawser_owner`, "postgres");
    const { child, done } = startProgram(postgres, "pg_restore", [
      "--exit-on-error",
      "--format=custom",
      ...connectionOptions(server),
    ]);
    child.stdout.resume();
    const sending = pipeline(dump, child.stdin);
    sending.catch(() => {});
    try {
      await done;
      await sending;
    } catch (error) {
      dump.destroy();
      child.kill();
      if (child.exitCode === null && child.signalCode === null) await once(child, "close");
      throw error;
    }
    await after?.(server);
    // A dump has no statistics, and the first statements would be slow without them.
    await runSql(server, "ANALYZE");
    await server.stop();
  }
  await flushCluster(postgres, directory);
}

/**
 * Only statements about ordinary roles are run, one a line: psql would also run commands of its own in this
 * text. The superuser exists in every cluster.
 */
export function readRoles(text: string): string {
  const statements: string[] = [];
  for (const line of text.split("\n")) {
    const isNoise = line.trim() === "" || /^(--|SET [^;]*;$|\\(un)?restrict )/.test(line);
    if (isNoise || new RegExp(`^(CREATE|ALTER) ROLE ${superuser}\\b`).test(line)) continue;
    const isOne = /^(CREATE ROLE|ALTER ROLE|GRANT) [^\\;]*;$/.test(line);
    if (!isOne || /\bSUPERUSER\b|\bpg_/i.test(line)) {
      throw new CommandFailed(
        `The roles of the database contain a line that hawser never writes, and nothing was restored: ${line.slice(0, 100)}`,
      );
    }
    statements.push(line);
  }
  return statements.join("\n");
}
