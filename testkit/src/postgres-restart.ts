// Faults of a PostgreSQL cluster that this process started: it can be frozen, crashed, or killed and started
// again on the same files.
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import pg from "pg";
import { childrenOf } from "./processes.ts";
import { stopProcess } from "./stop-process.ts";

export interface PostgresFaults extends AsyncDisposable {
  /** Freezes the cluster: nothing answers and no connection closes until the returned function is called. */
  freeze(): () => void;
  /** Crashes one server process. PostgreSQL then ends all connections and recovers. */
  crash(): void;
  /** Kills the cluster, and starts it again after this time. */
  killFor(milliseconds: number): Promise<void>;
}

const longestStartMs = 30_000;

/** Controls the cluster from now on. Dispose of this before the cluster, which removes the files. */
export function openPostgresFaults(pid: number, url: string): PostgresFaults {
  const [program, ...options] = readFileSync(`/proc/${pid}/cmdline`, "utf8")
    .split("\0")
    .slice(0, -1);
  const { uid, gid } = statSync(`/proc/${pid}`);
  let current = pid;
  let child: ChildProcess | undefined;

  function start(): ChildProcess {
    const started = spawn("setpriv", ["--pdeathsig=INT", "--", program!, ...options], {
      ...(process.getuid?.() === 0 && { uid, gid }),
      stdio: "ignore",
      env: { PATH: process.env["PATH"] },
    });
    current = started.pid!;
    return started;
  }

  return {
    freeze() {
      const frozen = familyOf(current);
      for (const each of frozen) signal(each, "SIGSTOP");
      return () => frozen.forEach((each) => signal(each, "SIGCONT"));
    },
    crash() {
      const backend = childrenOf(current).find((each) => /\d\(\d+\)/.test(titleOf(each)));
      if (backend !== undefined) signal(backend, "SIGKILL");
    },
    async killFor(milliseconds) {
      const orphans = childrenOf(current);
      signal(current, "SIGKILL");
      // Backends would notice the server's end later; a new server cannot start before they have ended.
      for (const each of orphans) signal(each, "SIGKILL");
      await new Promise((resolve) => setTimeout(resolve, milliseconds));
      const deadline = Date.now() + longestStartMs;
      for (child = start(); !(await answers(url));) {
        if (Date.now() > deadline) throw new Error("PostgreSQL did not start again.");
        if (child.exitCode !== null) child = start();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    async [Symbol.asyncDispose]() {
      if (child) await stopProcess(child, "SIGINT");
    },
  };
}

/** The server and its backends, which have their own process sessions, so that a group signal misses them. */
export const familyOf = (pid: number) => [pid, ...childrenOf(pid)];

/** The title of a backend has its client's port: "postgres: owner database 127.0.0.1(40512) idle". */
function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

export function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.query("SELECT 1");
    return true;
  } catch {
    return false;
  } finally {
    await client.end().catch(() => {});
  }
}
