// A private PostgreSQL cluster, run by the machine's own binaries on a free loopback port, in a temporary
// directory. It never uses the machine's default cluster.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { chownSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

interface PostgresOptions {
  port?: number;
  /** Extra server settings, such as `{ shared_buffers: "1GB" }`. */
  settings?: Record<string, string>;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresCluster> {
  const binaries = findBinaries();
  const directory = mkdtempSync(join(tmpdir(), "hawser-postgres-"));
  const asUser = unprivilegedUser();
  if (asUser) chownSync(directory, asUser.uid, asUser.gid);
  const initialized = spawnSync(
    join(binaries, "initdb"),
    // The cluster ends with the test, so initdb does not have to wait for the disk.
    [
      "-D",
      directory,
      "-U",
      "postgres",
      "-A",
      "trust",
      "-E",
      "UTF8",
      "--locale=C.UTF-8",
      "--no-sync",
    ],
    { ...asUser, encoding: "utf8", env: { PATH: process.env["PATH"] } },
  );
  if (initialized.status !== 0) {
    removeDirectory(directory);
    throw new Error(`initdb failed: ${initialized.stderr}`, { cause: initialized.error });
  }
  const port = options.port ?? (await freePort());
  const settings = {
    listen_addresses: "127.0.0.1",
    port: String(port),
    unix_socket_directories: "",
    max_connections: "300",
    // A killed process loses nothing without fsync; only a power cut does, and no test cuts power.
    fsync: "off",
    ...options.settings,
  };
  const server = spawn(
    "setpriv",
    // The kernel ends the cluster if this process dies, even by SIGKILL.
    [
      "--pdeathsig=INT",
      "--",
      join(binaries, "postgres"),
      "-D",
      directory,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    { ...asUser, stdio: ["ignore", "ignore", "pipe"], env: { PATH: process.env["PATH"] } },
  );
  let log = "";
  server.stderr.on("data", (chunk: Buffer) => (log = (log + chunk.toString()).slice(-10_000)));
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  try {
    await untilReady(url, server);
  } catch (cause) {
    await stopProcess(server, "SIGQUIT");
    removeDirectory(directory);
    throw new Error(`PostgreSQL did not start: ${log}`, { cause });
  }
  return {
    url,
    port,
    pid: server.pid!,
    async [Symbol.asyncDispose]() {
      await stopProcess(server, "SIGINT");
      removeDirectory(directory);
    },
  };
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
  const deadline = Date.now() + 30_000;
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
