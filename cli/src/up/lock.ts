// One `hawser up` for each data directory. The kernel holds the lock and releases it when the process ends,
// however it ends. The commands that need the data at rest, such as a restore, hold the same lock.
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as pause } from "node:timers/promises";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { readSettings } from "../settings.ts";
import { runningUp } from "./run-state.ts";

/** A process that has just been killed releases the lock a moment later. */
const patienceMs = 1_000;

/** Kept here, because a lock that nothing refers to would be garbage-collected and released. */
const held = new Set<DatabaseSync>();

/** Throws CommandFailed if another process has the lock. Held until the process ends, or `release` is called. */
export async function holdData(dataDirectory: string): Promise<{ release: () => void }> {
  const file = join(dataDirectory, "lock");
  const lock = new DatabaseSync(file, { timeout: 0 });
  chmodSync(file, 0o600);
  const deadline = Date.now() + patienceMs;
  while (!isAcquired(lock)) {
    if (Date.now() > deadline) {
      lock.close();
      throw new CommandFailed(describeHolder(dataDirectory));
    }
    await pause(50);
  }
  const other = runningUp(dataDirectory);
  if (other && other.pid !== process.pid) {
    // Somebody has removed the file that the other process holds.
    lock.close();
    throw new CommandFailed(describeHolder(dataDirectory));
  }
  held.add(lock);
  return {
    release() {
      if (held.delete(lock)) lock.close();
    },
  };
}

function describeHolder(dataDirectory: string): string {
  const { url } = readSettings(dataDirectory);
  const running = runningUp(dataDirectory);
  if (!running) {
    return `Another hawser command uses ${dataDirectory}. Wait until it has ended, then run this again.`;
  }
  const at = url === undefined ? "" : ` at ${url}`;
  return `Hawser already runs${at}, as process ${running.pid}, with the data in ${dataDirectory}. To see its parts: ${commandFor(dataDirectory, "status")}. To stop it: ${commandFor(dataDirectory, "down")}`;
}

function isAcquired(lock: DatabaseSync): boolean {
  try {
    // The open transaction is the lock. It writes nothing, so a full disk does not matter.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    const busy = 5;
    if ((error as { errcode?: number }).errcode === busy) return false;
    throw error;
  }
}
