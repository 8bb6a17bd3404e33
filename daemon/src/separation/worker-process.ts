// One worker of a separated host: a process of another Unix user, which is started again whenever it ends.
import { execFile, spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { promisify } from "node:util";
import { backOff } from "../link/back-off.ts";
import { describe, type Log } from "../log.ts";
import { pause, within } from "../pause.ts";
import { openPipe, type Handlers, type Pipe } from "./pipe.ts";
import type { UnixUser } from "./separation.ts";

export interface WorkerOptions {
  of: UnixUser;
  /** The program and arguments that run a worker with this state directory. */
  program: readonly string[];
  /** What the worker may ask of the front. Called for each start. */
  handlers: () => Handlers & { end: () => void };
  /** The body of the first call. */
  greeting: () => object;
  /** Called when it has started. */
  onReady: () => void;
  log: Log;
  /** Starts the process; by default through sudo. */
  launch?: (of: UnixUser, program: readonly string[]) => Child;
  /** Ends a process that does not end by itself; by default through sudo. */
  kill?: (of: UnixUser, pid: number) => Promise<void>;
  timing?: Partial<typeof usualTiming>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface Worker {
  of: UnixUser;
  /** Waits a moment for a worker that is being started. Throws if it does not run. */
  call(name: string, body: object, timeoutMs?: number): Promise<unknown>;
  /** No-op if the worker does not run: a new one gets the present state in its greeting. */
  send(name: string, body: object): void;
  /** Ends the worker; its agents too if wanted. */
  stop(ending: { endsAgents: boolean }): Promise<void>;
}

/** `stopMs`: an agent that renews its login has 15 seconds for that. */
const usualTiming = { startMs: 30_000, patienceMs: 5_000, stopMs: 20_000 };
/** What a worker prints beyond that is not logged. */
const mostPrinted = 50;
const tryMs = 20_000;
const restart = { firstMs: 250, longestMs: 30_000 };
/** A worker that ran for this long has started well. */
const stableMs = 60_000;

export function startWorker(options: WorkerOptions): Worker {
  const { of, log, launch = launchBySudo, kill = killBySudo } = options;
  const { startMs, patienceMs, stopMs } = { ...usualTiming, ...options.timing };
  const stopped = new AbortController();
  let ready = Promise.withResolvers<Pipe>();
  let current: { pipe: Pipe; ended: Promise<void> } | undefined;

  async function keepRunning(): Promise<void> {
    // The parts of the host that the greeting needs are made after this one.
    await pause(0, stopped.signal);
    for (let failures = 0; !stopped.signal.aborted;) {
      const startedAt = performance.now();
      try {
        await runOnce();
      } catch (error) {
        log.warn("a worker did not start", { user: of.user, error: describe(error) });
      }
      if (stopped.signal.aborted) return;
      failures = performance.now() - startedAt > stableMs ? 0 : failures + 1;
      log.warn("a worker has ended, and is started again", { user: of.user });
      await pause(backOff(failures + 1, restart), stopped.signal);
    }
  }

  /** Resolves when the process has ended. */
  async function runOnce(): Promise<void> {
    const child = launch(of, options.program);
    const ended = new Promise<void>((resolve) => {
      child.once("exit", () => resolve());
      child.once("error", () => resolve());
    });
    let printed = 0;
    child.stderr.on("data", (text: Buffer) => {
      if (++printed > mostPrinted) return;
      log.warn("a worker printed", { user: of.user, text: text.toString().slice(0, 2_000).trim() });
    });
    const { end, ...handlers } = options.handlers();
    const pipe = openPipe(child.stdout, child.stdin, handlers, log);
    current = { pipe, ended };
    try {
      await pipe.call("begin", options.greeting(), startMs);
      ready.resolve(pipe);
      options.onReady();
      await Promise.race([pipe.closed, ended]);
      // Calls from now on wait for the next one.
      ready = Promise.withResolvers();
    } finally {
      pipe.close();
      end();
      current = undefined;
      // The end of its input ends it, unless its agents have stopped it.
      if (!(await within(stopMs, ended))) {
        log.warn("a worker does not end", { user: of.user });
        if (child.pid !== undefined) await kill(of, child.pid);
      }
    }
  }

  const running = keepRunning();

  async function usable(): Promise<Pipe> {
    const found = await Promise.race([ready.promise, pause(patienceMs, stopped.signal)]);
    if (!found) throw new Error(`The worker of ${of.user} does not run.`);
    return found;
  }

  return {
    of,
    async call(name, body, timeoutMs) {
      return (await usable()).call(name, body, timeoutMs);
    },
    send: (name, body) => current?.pipe.send(name, body),
    async stop(ending) {
      stopped.abort();
      const last = current;
      await last?.pipe.call("close", ending, stopMs).catch((error: unknown) => {
        log.warn("a worker did not close", { user: of.user, error: describe(error) });
      });
      last?.pipe.close();
      await running;
    },
  };
}

function launchBySudo({ user, state }: UnixUser, program: readonly string[]): Child {
  const args = [...asUser(user), ...program, "work", "--state", state];
  // Not in a directory that the other user may not enter.
  return spawn("sudo", args, { cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
}

const asUser = (user: string) => ["-n", "-H", "-u", user, "--"];

/** Throws if the user cannot run this program. */
export async function tryProgram({ user }: UnixUser, program: readonly string[]): Promise<void> {
  const args = [...asUser(user), ...program, "--version"];
  try {
    await promisify(execFile)("sudo", args, { cwd: "/", timeout: tryMs });
  } catch (cause) {
    throw new Error(`The user ${user} cannot run the daemon: ${describe(cause)}`, { cause });
  }
}

/** The front cannot signal another user's process by itself. sudo has become the worker, so its pid is the worker's. */
async function killBySudo({ user }: UnixUser, pid: number): Promise<void> {
  await runBySudo(user, "kill", "-KILL", "--", String(pid));
}

/** Ends everything that runs as a user who serves one person, and its worker too. The worker is started again. */
export async function endProcesses(user: string): Promise<void> {
  // The program kill ends with them, because it runs as the same user.
  await runBySudo(user, "kill", "-KILL", "--", "-1");
}

/** Resolves when the program has ended, however it did. */
async function runBySudo(user: string, ...words: string[]): Promise<void> {
  const child = spawn("sudo", [...asUser(user), ...words], { cwd: "/", stdio: "ignore" });
  await new Promise<void>((resolve) => {
    child.once("exit", () => resolve());
    child.once("error", () => resolve());
  });
}
