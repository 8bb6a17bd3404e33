// Ensures one supervisor for each state directory. The kernel holds the lock and releases it when the
// process ends, however it ends. Of two supervisors the newer version wins: it asks the older to stop.
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { isNewer } from "@hawser/host-protocol";
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
  const file = join(state.directory, "run.lock");
  const lock = new DatabaseSync(file, { timeout: 0 });
  // A user who can open it could lock it.
  chmodSync(file, 0o600);
  const startedAt = Date.now();
  let asked: number | undefined;
  while (!isTaken(lock)) {
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
  held.add(lock);
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

/** Kept here, because a lock that nothing refers to would be garbage-collected and released. */
const held = new Set<DatabaseSync>();

function isTaken(lock: DatabaseSync): boolean {
  try {
    // The open transaction is the lock. Nothing is ever written, not even a journal beside the file, so
    // that a full disk does not matter.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const busy = 5;
    if ((error as { errcode?: number }).errcode === busy) return false;
    throw error;
  }
}
