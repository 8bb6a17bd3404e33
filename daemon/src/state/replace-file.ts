// Replacing things on disk as a whole: whoever is killed in between, or loses power, leaves the old
// one or the new one.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Puts `from` in the place of `to`, also after a power cut. Both are in one folder. */
export function replaceBy(from: string, to: string): void {
  renameSync(from, to);
  const folder = openSync(dirname(to), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}

/** As JSON, for the owner only. */
export function replaceFile(path: string, value: object): void {
  replaceText(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** For the owner only. A write that fails, such as on a full disk, leaves the old file. */
export function replaceText(path: string, text: string): void {
  const next = `${path}.next`;
  try {
    const file = openSync(next, "w", 0o600);
    try {
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(next, path);
  } catch (error) {
    rmSync(next, { force: true });
    throw error;
  }
}
