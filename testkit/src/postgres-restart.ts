// Hard times for a PostgreSQL cluster that this process started: frozen for a while, crashed, or
// killed and started again on the same files.
import { spawn, type ChildProcess } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import pg from "pg";
import { stopProcess } from "./stop-process.ts";

export interface PostgresFaults extends AsyncDisposable {
  /** Nothing answers, and no connection is closed, until the function it gives is called. */
  freeze(): () => void;
  /** One server process dies as by a bug; PostgreSQL then ends all connections and recovers by itself. */
  crash(): void;
  /** All of it dies and is gone for so long. */
  killFor(milliseconds: number): Promise<void>;
}

const longestStartMs = 30_000;

/** Takes the cluster over: whoever started it still removes its files, after this is disposed. */
export function openPostgresFaults(pid: number, url: string): PostgresFaults {
  const [program, ...options] = readFileSync(`/proc/${pid}/cmdline`, "utf8")
    .split("\0")
    .slice(0, -1);
  const { uid, gid } = statSync(`/proc/${pid}`);
  let current = pid;
  let child: ChildProcess | undefined;

  /** The server and what it forked, which are sessions of their own and not reached through it. */
  const family = () => [current, ...childrenOf(current)];

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
      const frozen = family();
      for (const each of frozen) signal(each, "SIGSTOP");
      return () => frozen.forEach((each) => signal(each, "SIGCONT"));
    },
    crash() {
      const backend = childrenOf(current).find((each) => /\d\(\d+\)/.test(titleOf(each)));
      if (backend !== undefined) signal(backend, "SIGKILL");
    },
    async killFor(milliseconds) {
      const orphans = family().slice(1);
      signal(current, "SIGKILL");
      // They would see it by themselves; a new server cannot start before they are gone.
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

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
  return text.split(" ").filter(Boolean).map(Number);
}

/** A backend's ends with its client's port: "postgres: owner database 127.0.0.1(40512) idle". */
function titleOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
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
