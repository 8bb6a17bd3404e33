// One command at a time uses a data directory: `hawser up` holds this lock while it runs. The kernel releases
// it when the process ends, however it ends.
import { chmodSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

const sqliteBusy = 5;

/** undefined if another process has the lock. Disposing releases it. */
export function lockData(directory: string): Disposable | undefined {
  const file = join(directory, "lock");
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    chmodSync(file, 0o600);
    // The open transaction is the lock. Nothing is written, so that a full disk does not matter.
    lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === sqliteBusy) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => lock.close() };
}
