// The file postmaster.pid of a cluster, which a killed PostgreSQL leaves behind. Its number may belong to
// another process by now. PostgreSQL then refuses to start, and pg_ctl would signal that process, so the
// process is compared with the cluster first.
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, readlinkSync, realpathSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { signalProcess } from "@hawser/daemon/signal-process.ts";

const pidFileOf = (cluster: string) => join(cluster, "postmaster.pid");

/** Time after which a leftover PostgreSQL is stopped. */
const patienceMs = 10_000;

/** undefined if there is no file, or if it is being written. */
export function readPidFile(cluster: string): { pid: number; isReady: boolean } | undefined {
  try {
    const lines = readFileSync(pidFileOf(cluster), "utf8").split("\n");
    const pid = Number(lines[0]);
    if (!Number.isSafeInteger(pid) || pid <= 0) return undefined;
    return { pid, isReady: lines[7]?.trim() === "ready" };
  } catch {
    return undefined;
  }
}

/** Whether the process is a PostgreSQL that was started for this cluster. */
export function isPostmasterOf(pid: number, cluster: string): boolean {
  const [program = "", option, directory] = argumentsOf(pid).split(/ (-D) /);
  if (!/(?:^|\/)(?:postgres|postmaster)$/.test(program) || option !== "-D") return false;
  return directory === cluster || (directory ?? "").startsWith(`${cluster} `);
}

/** The command line of a process, with spaces between its words; empty if it has ended. */
function argumentsOf(pid: number): string {
  if (existsSync("/proc/self/cmdline")) {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    } catch {
      return "";
    }
  }
  const { stdout } = spawnSync("ps", ["-ww", "-p", String(pid), "-o", "args="], {
    encoding: "utf8",
    timeout: 10_000,
  });
  return (stdout ?? "").trim();
}

/**
 * Waits for a PostgreSQL that outlived its owner, and for processes that outlived a killed PostgreSQL. Removes
 * the file only if its number belongs to a living process of another program, which is never signalled.
 */
export async function awaitPostmaster(cluster: string, waitMs = patienceMs): Promise<void> {
  const found = readPidFile(cluster);
  if (found) {
    // SIGINT: ends connections and writes a checkpoint. SIGQUIT: ends at once; the next start recovers.
    await endAll(
      () => (isPostmasterOf(found.pid, cluster) ? [found.pid] : []),
      [
        [waitMs, "SIGINT"],
        [3 * waitMs, "SIGQUIT"],
      ],
    );
    const isLeft = readPidFile(cluster)?.pid === found.pid;
    if (isLeft && isAlive(found.pid)) rmSync(pidFileOf(cluster), { force: true });
  }
  await endAll(
    () => orphansOf(cluster),
    [
      [waitMs / 5, "SIGQUIT"],
      [waitMs, "SIGKILL"],
    ],
  );
}

/** Waits until the list is empty. After each of the times, its processes get the signal. */
async function endAll(
  list: () => number[],
  steps: [afterMs: number, NodeJS.Signals][],
): Promise<void> {
  const startedAt = Date.now();
  const left = [...steps];
  for (let pids = list(); pids.length > 0; pids = list()) {
    const [afterMs, signal] = left[0] ?? [Infinity, "SIGKILL"];
    if (Date.now() - startedAt > afterMs) {
      for (const pid of pids) signalProcess(pid, signal);
      // The last signal is repeated, for processes that were found later.
      if (left.length > 1) left.shift();
    }
    await pause(50);
  }
}

/**
 * The server processes of a cluster, which work in its directory. One that is busy outlives a killed
 * postmaster, and PostgreSQL does not start while it lives. Empty on systems without /proc.
 */
function orphansOf(cluster: string): number[] {
  if (!existsSync("/proc/self/cwd")) return [];
  const directory = realpathSync(cluster);
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const program = readlinkSync(`/proc/${name}/exe`).replace(/ \(deleted\)$/, "");
        return basename(program) === "postgres" && readlinkSync(`/proc/${name}/cwd`) === directory;
      } catch {
        return false;
      }
    })
    .map(Number);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
