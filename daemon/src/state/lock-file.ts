// A file that one process at a time can lock. The kernel holds the lock and releases it when the process ends,
// however it ends.
import { chmodSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

export interface LockFile {
  /** Whether this process has the lock now. */
  acquire(): boolean;
  release(): void;
}

/** Kept here, because a lock that nothing refers to would be garbage-collected and released. */
const held = new Set<DatabaseSync>();

/** Creates the file if it is missing. Only its owner can open it: another user could lock it. */
export function openLockFile(file: string): LockFile {
  const lock = new DatabaseSync(file, { timeout: 0 });
  chmodSync(file, 0o600);
  return {
    acquire() {
      try {
        // The open transaction is the lock. Nothing is ever written, not even a journal beside the file, so
        // that a full disk does not matter.
        lock.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
        held.add(lock);
        return true;
      } catch (error) {
        const busy = 5;
        if ((error as { errcode?: number }).errcode === busy) return false;
        throw error;
      }
    },
    release() {
      held.delete(lock);
      if (lock.isOpen) lock.close();
    },
  };
}
