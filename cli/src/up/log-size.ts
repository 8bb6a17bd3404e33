// Keeps the logs of the parts small. The parts write to their files directly, so that nothing is lost when
// `hawser up` is killed. A file that has become too large is copied and emptied; a few lines that are written
// between the two steps are lost.
import { copyFileSync, renameSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { partNames } from "./run-state.ts";

const limitBytes = 5 * 1024 * 1024;
const everyMs = 10_000;

export function limitLogs(dataDirectory: string): Disposable {
  const timer = setInterval(() => {
    for (const name of partNames) {
      try {
        limitLog(logOf(dataDirectory, name));
      } catch {
        // A disk that has become read-only must not end what runs. The next round tries again.
      }
    }
  }, everyMs);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}

export const logOf = (dataDirectory: string, part: string) =>
  join(dataDirectory, "log", `${part}.log`);

/**
 * No-op if the file is missing or small enough. Its former content is in FILE.1 afterwards; on a
 * full disk it is lost, and FILE.1 stays as it was.
 */
export function limitLog(file: string, limit = limitBytes): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= limit) return;
  try {
    copyFileSync(file, `${file}.next`);
    renameSync(`${file}.next`, `${file}.1`);
  } catch {
    rmSync(`${file}.next`, { force: true });
  }
  truncateSync(file, 0);
}
