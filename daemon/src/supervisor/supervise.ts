// The parent of the daemon: starts it, starts it again after a crash, and replaces it with a new version.
// The supervisor itself is replaced only when its service restarts, so it does nothing else.
//
// Guarantee: at most one of its children has the journal and accepts commands; the pointer names a version
// only after that version has been online; a child ends when its supervisor does.
import { backOff } from "../link/back-off.ts";
import { describe, type Log } from "../log.ts";
import { pause, within } from "../pause.ts";
import type { State } from "../state/state.ts";
import { clearFailure, noteFailure } from "../updates/record.ts";
import { startChild, type Child } from "./child.ts";
import { notePlace } from "./only-one.ts";
import {
  chooseProgram,
  installedProgram,
  keepVersions,
  switchTo,
  type Program,
} from "./versions.ts";

export interface SuperviseOptions {
  state: State;
  /** The program that is running now. */
  own: Program;
  /** Arguments of every daemon. */
  args: readonly string[];
  log: Log;
  /** How long a new version may take to get ready, and again to take over. */
  takeoverMs: number;
}

export interface Supervisor {
  /** Resolves when there is nothing more to supervise: the daemon was ordered to stop, or was forgotten. */
  ended: Promise<void>;
  stop: () => void;
}

const crashWait = { firstMs: 500, longestMs: 60_000 };
/** After running this long, a daemon counts as good: its next crash is the first. */
const goodAfterMs = 60_000;
/** As long as a daemon may take to announce its departure, and its agents to store a renewed login. */
const stopMs = 20_000;

export function supervise(options: SuperviseOptions): Supervisor {
  const { state, own, log, takeoverMs } = options;
  const { directory } = state;
  const ended = Promise.withResolvers<void>();
  const stopped = new AbortController();
  const children = new Set<Child>();
  let serving: Child;
  let isSwapping = false;
  let crashes = 0;

  function start(program: Program, more: readonly string[] = []): Child {
    const child = startChild(program, [...options.args, ...more], (report) => {
      if (report.say === "start" && child === serving) void swap(report.version);
    });
    children.add(child);
    void child.ended.then(() => children.delete(child));
    log.info("a daemon was started", { pid: child.pid, version: child.version });
    return child;
  }

  function keep(child: Child): void {
    serving = child;
    void watch(child);
  }

  async function watch(child: Child): Promise<void> {
    const startedAt = performance.now();
    await child.ended;
    if (performance.now() - startedAt > goodAfterMs) crashes = 0;
    if (serving === child && !isSwapping) await replaceEnded(child);
  }

  async function replaceEnded(child: Child): Promise<void> {
    const code = await child.ended;
    if (stopped.signal.aborted) return;
    log.info("the daemon ended", { pid: child.pid, version: child.version, code });
    if (code === 0) return ended.resolve();
    await pause(backOff(++crashes, crashWait), stopped.signal);
    if (!stopped.signal.aborted) keep(start(chooseProgram(directory, own)));
  }

  async function swap(version: string): Promise<void> {
    if (isSwapping || stopped.signal.aborted) return;
    isSwapping = true;
    const former = serving;
    const step = (name: string) => log.info("update", { step: name, version });
    let next: Child | undefined;
    try {
      step("starting");
      next = start(installedProgram(directory, version), ["--standby"]);
      await next.waitFor("ready", takeoverMs);
      step("handing over");
      const quiet = former.waitFor("quiet", takeoverMs);
      former.order({ say: "hand over" });
      // A daemon that has just died has released the journal, too.
      await quiet.catch((error: unknown) => {
        if (!former.hasEnded()) throw error;
      });
      step("taking over");
      const online = next.waitFor("online", takeoverMs);
      next.order({ say: "take" });
      await online;
      step("switching");
      switchTo(directory, version);
      step("switched");
    } catch (error) {
      await giveUp(former, next, version, describe(error));
      return;
    } finally {
      isSwapping = false;
    }
    crashes = 0;
    keep(next);
    former.order({ say: "leave" });
    if (!(await within(stopMs, former.ended))) former.kill("SIGKILL");
    tidy(version, former.version);
    step("done");
  }

  async function giveUp(former: Child, next: Child | undefined, version: string, why: string) {
    next?.kill("SIGKILL");
    await next?.ended;
    if (stopped.signal.aborted) return;
    const reason = `The new daemon was not put in place: ${why}.`;
    log.warn("update", { step: "given up", version, reason });
    try {
      noteFailure(directory, { version, reason });
    } catch (error) {
      log.warn("could not record why the update failed", { error: describe(error) });
    }
    former.order({ say: "resume", version, reason });
    if (former.hasEnded()) void replaceEnded(former);
  }

  /** Files that cannot be removed now are removed after the next update. */
  function tidy(version: string, former: string): void {
    try {
      clearFailure(directory);
      notePlace(state, version);
      keepVersions(directory, [version, former, own.version]);
    } catch (error) {
      log.warn("could not remove old versions", { error: describe(error) });
    }
  }

  async function stop(): Promise<void> {
    if (stopped.signal.aborted) return;
    stopped.abort();
    for (const child of children) child.kill("SIGTERM");
    const all = Promise.all([...children].map((child) => child.ended));
    if (!(await within(stopMs, all))) for (const child of children) child.kill("SIGKILL");
    ended.resolve();
  }

  keep(start(chooseProgram(directory, own)));
  notePlace(state, serving!.version);
  return {
    ended: ended.promise,
    stop: () => void stop(),
  };
}
