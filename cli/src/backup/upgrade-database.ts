// `hawser up --upgrade-database`: moves the cluster of a data directory to a newer major version of PostgreSQL.
// The old cluster stays beside the new one. The dump is made by the old version's own pg_dump: a newer one
// writes options of columns that the new server does not know.
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { flushDirectory } from "@hawser/daemon/installs/unpack.ts";
import { CommandFailed } from "../command-failed.ts";
import { findPostgres, type Postgres } from "../engines/find-postgres.ts";
import { startCluster } from "./cluster.ts";
import { finishedMark, settleData } from "./data-version.ts";
import { loadDatabase } from "./load-database.ts";
import { isFull, readMajor } from "./make-backup.ts";
import { connectionOptions, runProgram, startProgram } from "./run-program.ts";

export interface UpgradeOptions {
  /** Its lock is held by the caller, and no server runs with it. */
  dataDirectory: string;
  /** The programs of the version that made the data. */
  from: Postgres;
  /** The programs of a later version. */
  to: Postgres;
  onProgress: (sentence: string) => void;
}

/** The same with the programs that this machine has: of the version of the data, and the newest. */
export async function upgradeToNewest(options: {
  /** Its lock is held by the caller, and no server runs with it. */
  dataDirectory: string;
  packageDirectory: string;
  onProgress: (sentence: string) => void;
}): Promise<string | undefined> {
  settleData(options.dataDirectory);
  const major = readMajor(options.dataDirectory);
  const to = await findPostgres(options);
  const from = major === to.major ? to : await findPostgres({ ...options, major });
  return await upgradeDatabase({ ...options, from, to });
}

/** Returns where the old cluster is kept; undefined if the data is of the new version already. */
export async function upgradeDatabase(options: UpgradeOptions): Promise<string | undefined> {
  const { dataDirectory: data, from, to, onProgress } = options;
  settleData(data);
  const cluster = join(data, "postgres");
  const major = readMajor(data);
  if (major === to.major) {
    onProgress(`The data is of PostgreSQL ${major} already.`);
    return undefined;
  }
  if (major !== from.major || major > to.major) {
    throw new CommandFailed(
      `The data is of PostgreSQL ${major}, and cannot be moved from ${from.version} to ${to.version}. It was not changed.`,
    );
  }
  const next = `${cluster}.next`;
  rmSync(next, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  try {
    await copyInto(cluster, next, options);
  } catch (error) {
    rmSync(next, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
    throw isFull(error)
      ? new CommandFailed(
          `The disk is full: an upgrade needs room for a second copy of the database. The data was not changed. Free some space and run this again.`,
        )
      : error;
  }
  writeFileSync(join(next, finishedMark), `from PostgreSQL ${from.version}\n`, {
    mode: 0o600,
    flush: true,
  });
  await flushDirectory(next);
  const kept = keptName(cluster, major);
  renameSync(cluster, kept);
  renameSync(next, cluster);
  await flushDirectory(data);
  rmSync(join(cluster, finishedMark), { force: true });
  onProgress(
    `The data is of PostgreSQL ${to.version} now. The old cluster is kept in ${kept}; remove it when you are sure, for example after 14 days.`,
  );
  return kept;
}

async function copyInto(
  cluster: string,
  next: string,
  { from, to, onProgress }: UpgradeOptions,
): Promise<void> {
  onProgress(`Copying the database from PostgreSQL ${from.version} to ${to.version} …`);
  await using old = await startCluster(from, cluster);
  const place = ["--host", old.socketDirectory, "--port", "5432", "--username", "postgres"];
  const roles = await runProgram(from, "pg_dumpall", [
    "--roles-only",
    "--no-password",
    "--database",
    "postgres",
    ...place,
  ]);
  const { child, done } = startProgram(from, "pg_dump", [
    "--format=custom",
    "--compress=0",
    "--lock-wait-timeout=60s",
    ...connectionOptions(old),
  ]);
  child.stdin.end();
  try {
    await loadDatabase({ postgres: to, directory: next, roles, dump: child.stdout });
    await done;
  } catch (error) {
    // A dump that failed by itself is the cause of everything else; one that lost its reader is not.
    const failure = await Promise.race([done.catch((cause: Error) => cause), pause(1_000)]);
    child.kill();
    if (failure && !/broken pipe|could not write/i.test(failure.message)) throw failure;
    throw error;
  }
}

function keptName(cluster: string, major: number): string {
  const name = `${cluster}.${major}-${new Date().toISOString().slice(0, 10)}`;
  for (let number = 2, path = name; ; path = `${name}-${number++}`) {
    if (!existsSync(path)) return path;
  }
}
