// One worker of a separated host: a process of another Unix user, which is started again whenever it ends.
import { execFile, spawn, type ChildProcessByStdio } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { setTimeout as wait } from "node:timers/promises";
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
  /** What the worker may ask of the front. Called for each start, with a log for what the worker does wrong. */
  handlers: (log: Log) => Handlers & { end: () => void };
  /** The body of the first call. */
  greeting: () => object;
  /** Called when it has started. */
  onReady: () => void;
  /** Called when `problem` has got its first value. */
  onProblem?: () => void;
  log: Log;
  /** Starts the process; by default through sudo. */
  launch?: (of: UnixUser, program: readonly string[]) => Child;
  /** Ends a process that does not end by itself; by default through sudo. */
  kill?: (of: UnixUser, pid: number) => Promise<void>;
  /** Ends everything that runs as the user; by default through sudo. */
  endAll?: ((user: string) => Promise<void>) | undefined;
  timing?: Partial<typeof usualTiming>;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface Worker {
  of: UnixUser;
  /** Waits a moment for a worker that is being started. Throws WorkerDown if it does not run. */
  call(name: string, body: object, timeoutMs?: number): Promise<unknown>;
  /** Why it does not start. undefined if it runs, or if too few starts have failed to call that a problem. */
  problem(): string | undefined;
  /** No-op if the worker does not run: a new one gets the present state in its greeting. */
  send(name: string, body: object): void;
  /** Ends everything that runs as its user, also the worker itself, which is started again. Throws if that fails. */
  endAll(): Promise<void>;
  /** Ends the worker; its agents too if wanted. */
  stop(ending: { endsAgents: boolean }): Promise<void>;
}

/** The call has not reached the worker. */
export class WorkerDown extends Error {}

/** `stopMs`: an agent that renews its login has 15 seconds for that. */
const usualTiming = { startMs: 30_000, patienceMs: 5_000, stopMs: 20_000, killMs: 2_000 };
/** How often to try to end processes of a user, how long a try may take, and how long to wait in between. */
const endTries = { count: 8, limitMs: 1_500, everyMs: 300 };
/** What a worker prints or does wrong beyond that is not logged. */
const mostPrinted = 50;
const tryMs = 20_000;
const restart = { firstMs: 250, longestMs: 30_000 };
/** One failure may be chance: a former worker that is ending, a machine that is short of memory. */
const failuresOfProblem = 2;
const longestReason = 300;
/** A worker that ran for this long has started well. */
const stableMs = 60_000;

export function startWorker(options: WorkerOptions): Worker {
  const { of, log, launch = launchBySudo, kill = killBySudo, endAll = endProcesses } = options;
  const { startMs, patienceMs, stopMs, killMs } = { ...usualTiming, ...options.timing };
  const stopped = new AbortController();
  let ready = Promise.withResolvers<Pipe>();
  let current: { pipe: Pipe; over: Promise<void> } | undefined;
  /** When a worker that is stopped has to have ended. */
  let stopBy = Infinity;
  /** The process was ended on purpose. That is no failure, so the next one starts at once. */
  let wasEnded = false;
  const starts = { failed: 0, reason: "", printed: "" };

  async function keepRunning(): Promise<void> {
    // The parts of the host that the greeting needs are made after this one.
    await pause(0, stopped.signal);
    for (let failures = 0; !stopped.signal.aborted;) {
      const startedAt = performance.now();
      try {
        await runOnce();
      } catch (error) {
        log.warn("a worker did not start", { user: of.user, error: describe(error) });
        // sudo prints why it starts nothing.
        starts.reason = shorten([describe(error), starts.printed].filter(Boolean).join(" "));
        if (!wasEnded) starts.failed += 1;
        if (starts.failed === failuresOfProblem) options.onProblem?.();
      }
      if (stopped.signal.aborted) return;
      log.warn("a worker has ended, and is started again", { user: of.user });
      if (wasEnded) {
        wasEnded = false;
        continue;
      }
      failures = performance.now() - startedAt > stableMs ? 0 : failures + 1;
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
    const few = limited(log);
    starts.printed = "";
    child.stderr.on("data", (text: Buffer) => {
      starts.printed ||= text.toString();
      few.warn("a worker printed", { user: of.user, text: text.toString().slice(0, 2_000).trim() });
    });
    const { end, ...handlers } = options.handlers(few);
    const pipe = openPipe(child.stdout, child.stdin, handlers, few);
    const over = Promise.withResolvers<void>();
    current = { pipe, over: over.promise };
    try {
      await pipe.call("begin", options.greeting(), startMs);
      starts.failed = 0;
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
      const leftMs = Math.min(stopMs, Math.max(0, stopBy - performance.now()));
      if (!(await within(leftMs, ended))) {
        log.warn("a worker does not end", { user: of.user });
        // Its agents can keep the program that ends it from doing so, and must not keep the front.
        const killed = child.pid === undefined || (await within(killMs, kill(of, child.pid)));
        if (!killed) log.warn("a worker was not ended", { user: of.user });
      }
      over.resolve();
    }
  }

  const running = keepRunning();

  async function usable(): Promise<Pipe> {
    const found = await Promise.race([ready.promise, pause(patienceMs, stopped.signal)]);
    if (!found) throw new WorkerDown(`The worker of ${of.user} does not run.`);
    return found;
  }

  return {
    of,
    async call(name, body, timeoutMs) {
      return (await usable()).call(name, body, timeoutMs);
    },
    problem: () => (starts.failed < failuresOfProblem ? undefined : starts.reason),
    send: (name, body) => current?.pipe.send(name, body),
    async endAll() {
      const last = current;
      wasEnded = last !== undefined;
      await endAll(of.user);
      // Calls from now on reach the next one.
      await last?.over;
    },
    async stop(ending) {
      stopped.abort();
      stopBy = performance.now() + stopMs;
      const last = current;
      await last?.pipe.call("close", ending, stopMs).catch((error: unknown) => {
        log.warn("a worker did not close", { user: of.user, error: describe(error) });
      });
      last?.pipe.close();
      await running;
    },
  };
}

const shorten = (text: string) =>
  text
    .replace(/[\p{Cc}\s]+/gu, " ")
    .trim()
    .slice(0, longestReason);

/** Agents must not fill the front's log, nor drive what others have done out of it. */
function limited(log: Log): Log {
  let count = 0;
  const warn: Log["warn"] = (...line) => void (++count <= mostPrinted && log.warn(...line));
  return { ...log, warn };
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

/**
 * Ends everything that runs as a user who serves one person, and its worker too. The worker is started again. Throws if
 * it fails: no program can be started as a user who has as many processes as a user may have.
 *
 * An agent can stop or kill the program that ends it, if it is quick enough. So a try has a limit, and each try starts
 * one more of these programs than the one before: one that gets through is enough, and ends the stopped ones.
 */
export async function endProcesses(user: string): Promise<void> {
  let isDone = false;
  for (let tries = 1; ; tries++) {
    // Not the program kill: this one also succeeds if there is nothing to end.
    const ends = Array.from({ length: tries }, async () => {
      const code = await runBySudo(user, "sh", "-c", "kill -s KILL -- -1; true");
      isDone ||= code === 0;
    });
    // All of them: a late one would end the next worker.
    await within(endTries.limitMs, Promise.all(ends));
    if (isDone) return;
    if (tries === endTries.count) throw new Error(`The processes of ${user} could not be ended.`);
    await wait(endTries.everyMs);
  }
}

/** Resolves with the exit code when the program has ended; null if it did not exit by itself. */
export async function runBySudo(user: string, ...words: string[]): Promise<number | null> {
  const child = spawn("sudo", [...asUser(user), ...words], { cwd: "/", stdio: "ignore" });
  return new Promise((resolve) => {
    child.once("exit", resolve);
    child.once("error", () => resolve(null));
  });
}
