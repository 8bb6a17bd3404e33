// A private PostgreSQL cluster, run by the machine's own binaries on a free loopback port, in a temporary
// directory. It never uses the machine's default cluster.
import { execFile, spawn, type ChildProcess } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { freePort } from "./free-port.ts";
import { removeDirectory } from "./remove-directory.ts";
import { stopProcess } from "./stop-process.ts";

export interface PostgresCluster extends AsyncDisposable {
  /** Connects as the superuser to the maintenance database. */
  url: string;
  port: number;
  pid: number;
}

export interface PostgresOptions {
  port?: number;
  /** Waits for the disk at every commit, as in production, instead of running without fsync. */
  durable?: boolean;
  /** Extra server settings, such as `{ shared_buffers: "1GB" }`. */
  settings?: Record<string, string>;
}

/**
 * For measurements: the cluster waits for the disk at every commit, has enough memory for all tables, and
 * makes no checkpoint by itself.
 */
export const forMeasuring = {
  durable: true,
  settings: { shared_buffers: "512MB", max_wal_size: "8GB", checkpoint_timeout: "1h" },
} satisfies PostgresOptions;

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresCluster> {
  const directory = makeDirectory();
  let server: PostgresServer;
  try {
    await initCluster(directory);
    const port = options.port ?? (await freePort());
    const settings = { ...(options.durable && { fsync: "on" }), ...options.settings };
    server = await startServer(directory, port, settings);
  } catch (error) {
    removeDirectory(directory);
    throw error;
  }
  const { url, port, pid } = server;
  return {
    url,
    port,
    pid,
    async [Symbol.asyncDispose]() {
      await server.stop();
      removeDirectory(directory);
    },
  };
}

/** The cluster for a user that does not end it, as one of several databases in it. */
export function borrowed(cluster: PostgresCluster): PostgresCluster {
  return { ...cluster, [Symbol.asyncDispose]: () => Promise.resolve() };
}

/** An empty directory that PostgreSQL may use. */
export function makeDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "hawser-postgres-"));
  const asUser = unprivilegedUser();
  if (asUser) chownSync(directory, asUser.uid, asUser.gid);
  return directory;
}

/** Makes the files of an empty cluster. */
export function initCluster(directory: string): Promise<void> {
  return runTool("initdb", [
    `--pgdata=${directory}`,
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C.UTF-8",
    // The cluster ends with the test, so initdb does not have to wait for the disk.
    "--no-sync",
  ]);
}

/** Runs a program of PostgreSQL to its end, as the user that runs the server. */
export async function runTool(name: string, options: string[]): Promise<void> {
  await promisify(execFile)(join(findBinaries(), name), options, {
    ...unprivilegedUser(),
    env: { PATH: process.env["PATH"] },
  });
}

export interface PostgresServer {
  /** Connects as the superuser to the maintenance database. */
  url: string;
  port: number;
  pid: number;
  /** Ends it with this signal. By default it ends all connections and writes a checkpoint. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** Starts a server on the files in a directory, and waits until it accepts connections. */
export async function startServer(
  directory: string,
  port: number,
  settings: Record<string, string> = {},
): Promise<PostgresServer> {
  const all = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "300",
    // A killed process loses nothing without fsync; only a power cut does, and no test cuts power.
    fsync: "off",
    ...settings,
  };
  const server = spawn(
    "setpriv",
    // The kernel ends the cluster if this process dies, even by SIGKILL.
    [
      "--pdeathsig=INT",
      "--",
      join(findBinaries(), "postgres"),
      "-D",
      directory,
      ...Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    {
      ...unprivilegedUser(),
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env["PATH"] },
    },
  );
  let log = "";
  server.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-10_000)));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  try {
    await untilReady(url, server);
  } catch (cause) {
    await stopProcess(server, "SIGQUIT");
    throw new Error(`PostgreSQL did not start: ${log}`, { cause });
  }
  return { url, port, pid: server.pid!, stop: (signal = "SIGINT") => stopProcess(server, signal) };
}

function findBinaries(): string {
  const base = "/usr/lib/postgresql";
  const versions = readdirSync(base)
    .map(Number)
    .filter((version) => version >= 15)
    .sort((a, b) => b - a);
  if (versions.length === 0) {
    throw new Error(`No PostgreSQL 15 or later under ${base}; run "npm run setup".`);
  }
  return join(base, String(versions[0]), "bin");
}

/** PostgreSQL refuses to run as root. Then it runs as the user `postgres` of its package. */
function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const entry = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((line) => line.startsWith("postgres:"));
  if (!entry) throw new Error('There is no user "postgres" to run PostgreSQL as.');
  const [, , uid, gid] = entry.split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  const deadline = Date.now() + 60_000;
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      if (server.exitCode !== null || Date.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
