// `hawser backup`: everything that a service made by `hawser up` needs to continue elsewhere, in one file.
// The database is read first and the journal of this machine's host after it, so that the journal is never
// behind the database: entries that only the journal has are sent again, the opposite would be a gap.
import { once } from "node:events";
import { createReadStream, existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";
import { readSettings } from "../settings.ts";
import { runningSocket, startCluster } from "./cluster.ts";
import { copyJournal, hostFiles, listBlobs, listJournals } from "./host-state.ts";
import { lockData } from "./lock.ts";
import { formatVersion, names } from "./manifest.ts";
import { checkArchive } from "./read-archive.ts";
import { connectionOptions, runProgram, runSql, startProgram, type Server } from "./run-program.ts";
import { readApplied } from "./schema-version.ts";
import { writeArchive, type ArchiveWriter } from "./write-archive.ts";

export interface BackupOptions {
  dataDirectory: string;
  /** Where the backup is written; undefined for a new file in `backups/` of the data directory. */
  out?: string | undefined;
  /** The version of this program. */
  hawser: string;
  /** Finds the programs of a major version. */
  findPostgres: (major: number) => Promise<Postgres>;
  onProgress: (sentence: string) => void;
}

/** Returns the path and the size of the new backup. */
export async function makeBackup(options: BackupOptions): Promise<{ path: string; size: number }> {
  const { dataDirectory: data, onProgress } = options;
  refuseDatabaseElsewhere(data);
  const major = readMajor(data);
  const path = options.out ?? defaultPath(data);
  if (existsSync(path)) {
    throw new CommandFailed(`${path} exists already. Name another file with --out.`);
  }
  const postgres = await options.findPostgres(major);
  await using server = await reachServer(data, postgres, onProgress);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const archive = await writeArchive(path);
  const scratch = await mkdtemp(join(dirname(path), ".hawser-backup-"));
  try {
    const masterKey = readFileSync(join(data, "master-key"));
    await addDatabase(archive, server, onProgress);
    const migrations = await readApplied(server);
    await addFiles(archive, data, scratch, onProgress);
    if (!masterKey.equals(readFileSync(join(data, "master-key")))) {
      throw new CommandFailed("The master key was replaced meanwhile. Make the backup again.");
    }
    await archive.finish({
      format: formatVersion,
      hawser: options.hawser,
      createdAt: new Date().toISOString(),
      postgres: { major: postgres.major, version: postgres.version },
      schemaVersion: migrations.at(-1) ?? null,
      migrations,
    });
  } catch (error) {
    await archive.abandon();
    throw isFull(error)
      ? new CommandFailed(
          `The disk of ${dirname(path)} is full, so there is no backup. Free some space, or name a file on another disk with --out.`,
        )
      : error;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  onProgress("Reading the backup again …");
  await checkArchive(path);
  return { path, size: statSync(path).size };
}

export const isFull = (error: unknown) => {
  const { code, errcode } = error as { code?: string; errcode?: number };
  const sqliteFull = 13;
  return (
    code === "ENOSPC" ||
    (errcode !== undefined && (errcode & 0xff) === sqliteFull) ||
    (error instanceof CommandFailed && error.message.startsWith("The disk is full"))
  );
};

/** An own cluster of an earlier time may still be there. */
function refuseDatabaseElsewhere(data: string): void {
  if (readSettings(data).postgresUrl === undefined) return;
  throw new CommandFailed(
    `The database of ${data} is not in it but on a server of its own (--postgres-url). Back it up there, and keep master-key, settings.json, fabric and host of ${data} with it.`,
    2,
  );
}

/** The major version of the cluster. Throws a sentence if there is none. */
export function readMajor(data: string): number {
  const file = join(data, "postgres/PG_VERSION");
  if (existsSync(file)) return Number.parseInt(readFileSync(file, "utf8"), 10);
  throw new CommandFailed(`There is no service in ${data}. Name its directory with --data.`, 2);
}

function defaultPath(data: string): string {
  const time = new Date().toISOString().replaceAll(/[-:]/g, "").replace(/\.\d+/, "");
  return join(data, "backups", `hawser-${time}.hawser-backup`);
}

/** The server of a running `hawser up`, or one that this command starts. */
async function reachServer(
  data: string,
  postgres: Postgres,
  onProgress: (sentence: string) => void,
): Promise<Server & AsyncDisposable> {
  const lock = lockData(data);
  const cluster = join(data, "postgres");
  if (lock) {
    try {
      onProgress(`Starting PostgreSQL ${postgres.major} for the backup …`);
      const started = await startCluster(postgres, cluster);
      return {
        ...started,
        async [Symbol.asyncDispose]() {
          await started[Symbol.asyncDispose]();
          lock[Symbol.dispose]();
        },
      };
    } catch (error) {
      lock[Symbol.dispose]();
      throw error;
    }
  }
  const socketDirectory = runningSocket(cluster);
  const server = { postgres, socketDirectory: socketDirectory ?? "" };
  const isUsable =
    socketDirectory !== undefined &&
    (await runSql(server, "SELECT 1").then(
      () => true,
      () => false,
    ));
  if (!isUsable) {
    throw new CommandFailed(
      `Another hawser command uses ${data}, and its database does not answer. Run this again when "hawser up" is ready, or when the other command has ended.`,
    );
  }
  return { ...server, [Symbol.asyncDispose]: () => Promise.resolve() };
}

async function addDatabase(
  archive: ArchiveWriter,
  server: Server,
  onProgress: (sentence: string) => void,
): Promise<void> {
  onProgress("Reading the database …");
  // Not compressed by pg_dump: a PostgreSQL that was built without zlib can read it too.
  const { child, done } = startProgram(server.postgres, "pg_dump", [
    "--format=custom",
    "--compress=0",
    "--lock-wait-timeout=60s",
    ...connectionOptions(server),
  ]);
  child.stdin.end();
  const gzip = createGzip();
  const packing = pipeline(child.stdout, gzip);
  packing.catch(() => {});
  try {
    const { size } = await archive.add(names.database, gzip as AsyncIterable<Buffer>);
    await packing;
    await done;
    onProgress(`The database takes ${readableSize(size)}.`);
  } catch (error) {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    throw error;
  }
  const place = ["--host", server.socketDirectory, "--port", "5432", "--username", "postgres"];
  const roles = await runProgram(server.postgres, "pg_dumpall", [
    "--roles-only",
    "--no-password",
    "--database",
    "postgres",
    ...place,
  ]);
  await archive.add(names.roles, Buffer.from(roles));
}

async function addFiles(
  archive: ArchiveWriter,
  data: string,
  scratch: string,
  onProgress: (sentence: string) => void,
): Promise<void> {
  onProgress("Reading settings, keys and the journal of this machine's host …");
  const files = [
    "settings.json",
    "master-key",
    "bootstrap-key",
    "fabric/nats-server.conf",
    "fabric/nats-keys.conf",
    "fabric/operator.seed",
    ...hostFiles.map((name) => `host/${name}`),
  ];
  for (const name of files) {
    const file = join(data, name);
    if (existsSync(file)) await archive.add(name, readFileSync(file));
  }
  const host = join(data, "host");
  for (const journal of listJournals(host)) {
    const copy = join(scratch, journal);
    await copyJournal(join(host, journal), copy, scratch);
    await archive.add(`host/${journal}`, createReadStream(copy) as AsyncIterable<Buffer>);
    for (const blob of listBlobs(host, journal)) {
      const bytes = readIfThere(join(host, blob));
      if (bytes) await archive.add(`host/${blob}`, bytes);
    }
  }
}

/** A blob is removed when the control plane has it. */
function readIfThere(file: string): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

export function readableSize(bytes: number): string {
  const [unit, name] = bytes < 1e6 ? [1e3, "kB"] : bytes < 1e9 ? [1e6, "MB"] : [1e9, "GB"];
  return `${(bytes / unit).toFixed(1)} ${name}`;
}
