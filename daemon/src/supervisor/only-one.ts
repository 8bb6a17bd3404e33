// Ensures one supervisor for each state directory. Of two supervisors the newer version wins: it asks the older
// to stop.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { isNewer } from "@hawser/host-protocol";
import { openLockFile } from "../state/lock-file.ts";
import { noteRunning, readRunning } from "../state/running.ts";
import type { State } from "../state/state.ts";

/** Another supervisor has the state directory. */
export class AlreadyRuns extends Error {}

/** A supervisor that has just got the lock needs a moment to write its version. */
const momentMs = 500;
/** Longer than a daemon may take to stop. */
const stopMs = 25_000;

/** Throws AlreadyRuns. The lock is held until the process ends. */
export async function takePlace(state: State, version: string): Promise<void> {
  const lock = openLockFile(join(state.directory, "run.lock"));
  const startedAt = Date.now();
  let asked: number | undefined;
  while (!lock.acquire()) {
    const waitedMs = Date.now() - startedAt;
    const holder = readRunning(state);
    const isOlder = holder !== undefined && isNewer(version, holder.version);
    if (waitedMs > (isOlder || asked ? stopMs : momentMs)) {
      const which = holder ? `: version ${holder.version}, process ${holder.pid}` : "";
      throw new AlreadyRuns(`The daemon runs already${which}.`);
    }
    if (isOlder && asked !== holder.pid) {
      process.kill(holder.pid, "SIGTERM");
      asked = holder.pid;
    }
    await wait(50);
  }
  notePlace(state, version);
}

/** Records which version serves here now. */
export function notePlace(state: State, version: string): void {
  try {
    noteRunning(state, version);
  } catch {
    // On a full disk the daemon runs nevertheless; other commands then know less about it.
  }
}
