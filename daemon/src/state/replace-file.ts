// Replaces files as a whole: after a kill or a power cut, either the old one or the new one is there.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Renames `from` to `to`, durably. Both are in one folder. */
export function replaceBy(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** Writes JSON that only the owner can read, unless the mode says otherwise. */
export function replaceFile(path: string, value: object, mode = 0o600): void {
  replaceText(path, `${JSON.stringify(value, undefined, 2)}\n`, mode);
}

/** Only the owner can read the file, unless the mode says otherwise. If writing fails, such as on a full disk, the old file stays. */
export function replaceText(path: string, text: string, mode = 0o600): void {
  const next = `${path}.next`;
  try {
    const file = openSync(next, "w", mode);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    replaceBy(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
