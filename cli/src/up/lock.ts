// One `hawser up` for each data directory. The commands that need the data at rest, such as a restore, hold the
// same lock.
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { openLockFile, type LockFile } from "@hawser/daemon/state/lock-file.ts";
import { commandFor } from "../command-for.ts";
import { CommandFailed } from "../command-failed.ts";
import { readSettings } from "../settings.ts";
import { runningUp } from "./run-state.ts";

/** A process that has just been killed releases the lock a moment later. */
const patienceMs = 1_000;

/** Throws CommandFailed if another process has the lock. Held until the process ends, or `release` is called. */
export async function holdData(dataDirectory: string): Promise<Pick<LockFile, "release">> {
  const lock = openLockFile(join(dataDirectory, "lock"));
  const deadline = Date.now() + patienceMs;
  while (!lock.acquire()) {
    if (Date.now() > deadline) {
      lock.release();
      throw new CommandFailed(describeHolder(dataDirectory));
    }
    await pause(50);
  }
  const other = runningUp(dataDirectory);
  if (other && other.pid !== process.pid) {
    // Somebody has removed the file that the other process holds.
    lock.release();
    throw new CommandFailed(describeHolder(dataDirectory));
  }
  return lock;
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
