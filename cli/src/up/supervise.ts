// Starts the parts, starts one again that ends by itself, and stops all of them in order. A part that ends
// too often stops everything: the cause needs a person.
import { closeSync, openSync, readFileSync } from "node:fs";
import { pause, within } from "@hawser/daemon/pause.ts";
import { CommandFailed } from "../command-failed.ts";
import { keep, type Kept } from "./keeper.ts";
import { logOf } from "./log-size.ts";
import { identify, type PartName, type PartState } from "./run-state.ts";

export interface Part {
  name: PartName;
  /** For sentences, such as PostgreSQL. */
  title: string;
  version: string;
  /** Runs before each start; removes what a killed process left. */
  prepare?: () => Promise<void>;
  program: string;
  args: readonly string[];
  environment: Record<string, string>;
  /** Resolves when the process can be used. Throws if the signal is aborted. */
  untilReady: (pid: number, signal: AbortSignal) => Promise<void>;
  readyMs: number;
  stopMs: number;
  /** Called when it has ended. The sentence if a new start is useless; undefined otherwise. */
  whyDone?: () => string | undefined;
}

export interface SuperviseOptions {
  dataDirectory: string;
  say: (sentence: string) => void;
  /** Called whenever a part's process has changed. */
  onChange: (parts: PartState[]) => void;
  /** Called once, with the reason to stop everything. */
  onGivenUp: (failure: CommandFailed) => void;
}

export interface Supervisor {
  /** Resolves when the part is ready. Throws CommandFailed if it cannot be started. */
  start: (part: Part) => Promise<void>;
  /**
   * Runs a step that can be repeated, again if a part ended while it ran. Throws its error if no part did, or
   * if everything stops.
   */
  repeat: <Result>(step: () => Promise<Result>) => Promise<Result>;
  /** Stops the part that was started last first. */
  stop: () => Promise<void>;
}

const firstWaitMs = 100;
const longestWaitMs = 5_000;
/** More restarts than this within the time are too many. */
const mostRestarts = 5;
const withinMs = 60_000;
const noticeMs = 300;

interface Supervised {
  part: Part;
  kept: Kept | undefined;
  state: PartState;
  /** Times of the recent restarts, by a clock that nobody sets. */
  restartedAt: number[];
}

export function superviseParts(options: SuperviseOptions): Supervisor {
  const { dataDirectory, say, onChange, onGivenUp } = options;
  const stopped = new AbortController();
  const all: Supervised[] = [];
  let ended = 0;
  const countEnds = () => ended;
  const change = () => onChange(all.map(({ state }) => state));

  /** Starts the process, and resolves when it is ready. Throws a sentence if it ends before. */
  async function startOnce(one: Supervised): Promise<Kept> {
    const { part } = one;
    await part.prepare?.();
    if (stopped.signal.aborted) throw new Error("Hawser is stopping");
    const log = openSync(logOf(dataDirectory, part.name), "a", 0o600);
    const { program, args, environment } = part;
    const kept = keep({ program, args, environment, directory: dataDirectory, output: log });
    closeSync(log);
    one.kept = kept;
    const pid = await kept.pid;
    Object.assign(one.state, identify(pid), { since: new Date().toISOString(), isReady: false });
    change();
    const ready = new AbortController();
    const signal = AbortSignal.any([ready.signal, stopped.signal]);
    const end = kept.ended.then(({ code }) => {
      throw new Error(`it ended with code ${code} before it was ready`);
    });
    const late = new Promise<never>((_, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`it was not ready after ${part.readyMs / 1000} s`)),
        part.readyMs,
      );
      signal.addEventListener("abort", () => clearTimeout(timer));
    });
    late.catch(() => {});
    try {
      await Promise.race([part.untilReady(pid, signal), end, late]);
    } catch (error) {
      await kept.stop(part.stopMs);
      throw error;
    } finally {
      ready.abort();
    }
    one.state.isReady = true;
    change();
    return kept;
  }

  /** Starts it until it is ready. Throws CommandFailed after too many attempts. */
  async function startAgain(one: Supervised, isFirst: boolean): Promise<Kept> {
    for (let isAttempt = isFirst; ; isAttempt = false) {
      if (!isAttempt) {
        const now = performance.now();
        one.restartedAt = [...one.restartedAt.filter((at) => at > now - withinMs), now];
        const count = one.restartedAt.length;
        if (count > mostRestarts) throw givenUp(one);
        await pause(Math.min(longestWaitMs, firstWaitMs * 2 ** (count - 1)), stopped.signal);
        one.state.restarts++;
      }
      try {
        return await startOnce(one);
      } catch (error) {
        if (stopped.signal.aborted || error instanceof CommandFailed) throw error;
        say(`${one.part.title} did not start: ${(error as Error).message}.`);
      }
    }
  }

  function givenUp({ part, state }: Supervised): CommandFailed {
    const file = logOf(dataDirectory, part.name);
    const lines = lastLines(file, 3).map((line) => `\n  ${line}`);
    return new CommandFailed(
      `${part.title} was started ${mostRestarts + 1} times within a minute and did not stay${state.isReady ? "" : " or get ready"}. Its log is ${file}${lines.length > 0 ? `, and ends with:${lines.join("")}` : "."}`,
    );
  }

  async function watch(one: Supervised, first: Kept): Promise<void> {
    for (let kept = first; ;) {
      const { code } = await kept.ended;
      if (stopped.signal.aborted) return;
      ended++;
      const why = one.part.whyDone?.();
      one.state.isReady = false;
      change();
      if (why !== undefined) return say(why);
      say(`${one.part.title} ended (${describeCode(code)}) and is started again.`);
      try {
        kept = await startAgain(one, false);
      } catch (error) {
        if (stopped.signal.aborted) return;
        onGivenUp(error instanceof CommandFailed ? error : givenUp(one));
        return;
      }
      say(`${one.part.title} runs again.`);
    }
  }

  return {
    async start(part) {
      const state: PartState = {
        name: part.name,
        version: part.version,
        pid: 0,
        startId: undefined,
        since: new Date().toISOString(),
        restarts: 0,
        isReady: false,
      };
      const one: Supervised = { part, kept: undefined, state, restartedAt: [] };
      all.push(one);
      void watch(one, await startAgain(one, true));
    },
    async repeat(step) {
      for (;;) {
        const ends = countEnds();
        try {
          return await step();
        } catch (error) {
          // The step may fail a moment before the end of the part is noticed.
          await pause(noticeMs, stopped.signal);
          if (stopped.signal.aborted || countEnds() === ends) throw error;
        }
        while (!all.every(({ state }) => state.isReady) && !stopped.signal.aborted) {
          await pause(50, stopped.signal);
        }
      }
    },
    async stop() {
      stopped.abort();
      for (const { kept, part } of all.toReversed()) {
        if (kept)
          await within(
            part.stopMs + 10_000,
            kept.stop(part.stopMs).catch(() => {}),
          );
      }
    },
  };
}

const describeCode = (code: number) => (code > 128 ? `signal ${code - 128}` : `code ${code}`);

/** The last lines of a file; empty if it cannot be read. */
export function lastLines(file: string, count: number): string[] {
  try {
    return readFileSync(file, "utf8").split("\n").filter(Boolean).slice(-count);
  } catch {
    return [];
  }
}
