// Starts the cluster of a data directory for the time of one command, on a socket that only this user
// reaches. It ends with this process, however the process ends.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { CommandFailed } from "../command-failed.ts";
import type { Postgres } from "../engines/find-postgres.ts";
import { isPostmasterOf } from "../up/postmaster.ts";
import { programEnvironment, runProgram, superuser, type Server } from "./run-program.ts";

export interface Cluster extends Server, AsyncDisposable {
  /** Stops the server, and rejects if that fails. */
  stop(): Promise<void>;
}

/** Recovery after a kill may take long, and is not to begin again. */
const startMs = 3_600_000;
const stopMs = 60_000;

/**
 * A shell beside the server that interrupts it (SIGINT: PostgreSQL's fast shutdown) when descriptor 3 closes,
 * which happens when this process ends. A server that has just begun loses the signal, so it is repeated.
 */
const keeper = `"$@" 3<&- & server=$!
  { trap 'kill $pause; exit' TERM; read -r _ <&3
    while kill -INT $server; do sleep 3 & pause=$!; wait $pause; done; } 2>/dev/null & reader=$!
  exec 3<&-; wait $server; status=$?; kill $reader 2>/dev/null; exit $status`;

/** For a cluster that does not exist until it is renamed: it is flushed to disk as a whole at its end. */
export const unsafeUntilFlushed = {
  fsync: "off",
  full_page_writes: "off",
  synchronous_commit: "off",
  max_wal_size: "4GB",
  autovacuum: "off",
};

/** Makes an empty cluster. Locales of PostgreSQL's own (17 and later) depend on no library of the system. */
export async function makeCluster(postgres: Postgres, directory: string): Promise<void> {
  const locale =
    postgres.major >= 17
      ? ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
      : ["--locale=C.UTF-8"];
  const login = ["--username", superuser, "--auth", "trust"];
  const more = ["--encoding", "UTF8", "--data-checksums", "--no-sync", ...locale];
  // The initdb of a killed command lives on for a moment. It would write into this one's directory, and remove it.
  const own = `${directory}-${process.pid}`;
  await runProgram(postgres, "initdb", ["--pgdata", own, ...login, ...more]);
  renameSync(own, directory);
}

/** Writes a stopped cluster to disk. */
export async function flushCluster(postgres: Postgres, directory: string): Promise<void> {
  await runProgram(postgres, "initdb", ["--pgdata", directory, "--sync-only"]);
}

export async function startCluster(
  postgres: Postgres,
  directory: string,
  settings: Record<string, string> = {},
): Promise<Cluster> {
  await endLeftServer(postgres, directory);
  // The path of a socket is limited to 107 bytes, which the data directory may exceed.
  const place = tmpdir().length < 60 ? tmpdir() : "/tmp";
  const socketDirectory = mkdtempSync(join(place, "hawser-pg-"));
  const all = {
    listen_addresses: "",
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: "0700",
    port: "5432",
    logging_collector: "off",
    log_destination: "stderr",
    ...settings,
  };
  const options = Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  const program = [join(postgres.bin, "postgres"), "-D", directory, ...options];
  const child = spawn("sh", ["-c", keeper, "keeper", ...program], {
    // Ctrl-C in a terminal reaches this process only, which then stops the server.
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env: programEnvironment(),
  });
  let log = "";
  child.stderr!.setEncoding("utf8").on("data", (part: string) => {
    log = (log + part).slice(-4_000);
  });
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => {
      hasEnded = true;
      resolve();
    });
  });
  const keep = child.stdio[3]!;
  keep.on("error", () => {});
  const stop = async () => {
    keep.destroy();
    await Promise.race([ended, wait(stopMs, undefined, { ref: false })]);
    rmSync(socketDirectory, { recursive: true, force: true });
    if (!hasEnded) throw new CommandFailed(`PostgreSQL in ${directory} did not stop in time.`);
  };
  const server: Server = { postgres, socketDirectory };
  const deadline = Date.now() + startMs;
  while (!(await answers(server))) {
    if (hasEnded || Date.now() > deadline) {
      await stop();
      throw new CommandFailed(explainStart(directory, log));
    }
    await wait(20);
  }
  return { ...server, stop, [Symbol.asyncDispose]: () => (hasEnded ? Promise.resolve() : stop()) };
}

function explainStart(directory: string, log: string): string {
  if (/no space left on device/i.test(log)) {
    return "PostgreSQL cannot start, because the disk is full. Free some space and run the command again.";
  }
  return `PostgreSQL did not start with the data in ${directory}:\n${log.trim()}`;
}

async function answers(server: Server): Promise<boolean> {
  const place = ["--host", server.socketDirectory, "--port", "5432", "--username", superuser];
  try {
    await runProgram(server.postgres, "psql", [
      "--no-psqlrc",
      "--no-password",
      "--quiet",
      ...place,
      "--dbname",
      "postgres",
      "--command",
      "SELECT",
    ]);
    return true;
  } catch {
    return false;
  }
}

/** The socket of the server that runs with this cluster; undefined if none runs. */
export function runningSocket(directory: string): string | undefined {
  const found = readPidFile(directory);
  return found && isPostmasterOf(found.pid, directory) ? found.socketDirectory : undefined;
}

/** A server whose owner was killed ends by itself within seconds. */
async function endLeftServer(postgres: Postgres, directory: string): Promise<void> {
  const found = readPidFile(directory);
  if (!found) return;
  if (!isPostmasterOf(found.pid, directory)) {
    // The number belongs to another process by now. PostgreSQL would refuse to start.
    rmSync(join(directory, "postmaster.pid"), { force: true });
    return;
  }
  await runProgram(postgres, "pg_ctl", ["stop", "-D", directory, "-m", "fast", "-w", "-t", "60"]);
}

function readPidFile(directory: string): { pid: number; socketDirectory: string } | undefined {
  const file = join(directory, "postmaster.pid");
  if (!existsSync(file)) return undefined;
  const lines = readFileSync(file, "utf8").split("\n");
  return { pid: Number(lines[0]), socketDirectory: lines[4] ?? "" };
}
