// An own PostgreSQL: a cluster in the data directory, reached through a Unix socket that only its user can
// open. It has no port and needs no password.
import { createHash } from "node:crypto";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  lstatSync,
} from "node:fs";
import { join } from "node:path";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";
import { partEnvironment } from "./environment.ts";
import { keep } from "./keeper.ts";
import { awaitPostmaster, readPidFile } from "./postmaster.ts";
import type { Part } from "./supervise.ts";

/** The path of a socket has at most 107 bytes on Linux and 104 on macOS. */
const longestDirectory = 90;

export const clusterOf = (dataDirectory: string) => join(dataDirectory, "postgres");

/** The major version of the cluster; undefined if there is no cluster. */
export function clusterMajor(dataDirectory: string): number | undefined {
  const file = join(clusterOf(dataDirectory), "PG_VERSION");
  return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
}

/** The directory of the socket; outside of the data directory if its path would be too long. */
export function socketDirectory(dataDirectory: string): string {
  const usual = join(dataDirectory, "run");
  // PostgreSQL reads the setting as a list, in which some characters have a meaning.
  if (Buffer.byteLength(usual) <= longestDirectory && !/[,"'\\]| \//.test(usual)) return usual;
  const hash = createHash("sha256").update(dataDirectory).digest("hex").slice(0, 12);
  // Not TMPDIR, which a service and a shell may have set differently.
  return `/tmp/hawser-${hash}`;
}

/** Another user could have made the directory first, to be asked instead of PostgreSQL. */
export function openSocketDirectory(dataDirectory: string): string {
  const directory = socketDirectory(dataDirectory);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // lstat: a link of another user could name a directory of ours now, and another one later.
  const found = lstatSync(directory);
  if (!found.isDirectory() || (process.getuid && found.uid !== process.getuid())) {
    throw new CommandFailed(
      `${directory}, where PostgreSQL's socket has to be, is not a directory of this user. Remove it, or use a data directory with a shorter path.`,
    );
  }
  chmodSync(directory, 0o700);
  return directory;
}

/** As psql and the control plane accept it. */
export function databaseUrl(dataDirectory: string, login: string, database: string): string {
  return `postgres://${login}@${encodeURIComponent(socketDirectory(dataDirectory))}/${database}`;
}

/** Makes a cluster if there is none. A cluster appears under its name only when it is complete. */
export async function ensureCluster(dataDirectory: string, postgres: Postgres): Promise<void> {
  const cluster = clusterOf(dataDirectory);
  removeUnfinished(dataDirectory);
  if (existsSync(cluster)) return;
  // An initdb of a killed process may still write into its own directory for a moment.
  const next = `${cluster}.next-${process.pid}`;
  const { code, stdout, stderr } = await keep({
    program: join(postgres.bin, "initdb"),
    args: [
      "-D",
      next,
      "--username=postgres",
      "--auth=trust",
      "--encoding=UTF8",
      "--data-checksums",
      ...localeOf(postgres.major),
    ],
    environment: partEnvironment(),
    directory: dataDirectory,
    output: "pipe",
  }).ended;
  if (code !== 0) {
    throw new CommandFailed(
      `PostgreSQL's initdb failed in ${dataDirectory}: ${stderr.trim() || stdout.trim()}`,
    );
  }
  renameSync(next, cluster);
}

function removeUnfinished(dataDirectory: string): void {
  for (const name of readdirSync(dataDirectory)) {
    if (!name.startsWith("postgres.next-")) continue;
    rmSync(join(dataDirectory, name), {
      recursive: true,
      force: true,
      maxRetries: 20,
      retryDelay: 50,
    });
  }
}

/**
 * Which names are equal depends on lower(), and so on the locale. The builtin one is the same on every
 * system and in every version; before 17 the one of the C library has to do.
 */
const localeOf = (major: number) =>
  major >= 17
    ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    : ["--locale=C.UTF-8"];

export function postgresPart(dataDirectory: string, postgres: Postgres): Part {
  const cluster = clusterOf(dataDirectory);
  const settings = {
    listen_addresses: "",
    unix_socket_directories: openSocketDirectory(dataDirectory),
    unix_socket_permissions: "0700",
    max_connections: "60",
    shared_buffers: "64MB",
  };
  return {
    name: "postgres",
    title: "PostgreSQL",
    version: postgres.version,
    prepare: () => awaitPostmaster(cluster),
    program: join(postgres.bin, "postgres"),
    args: [
      "-D",
      cluster,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    environment: partEnvironment(),
    async untilReady(pid, signal) {
      while (!signal.aborted) {
        const found = readPidFile(cluster);
        if (found?.pid === pid && found.isReady) return;
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
    },
    // Recovery after a kill reads the log of changes since the last checkpoint, and must not begin again.
    readyMs: 86_400_000,
    stopMs: 60_000,
  };
}
