// The daemon's log on disk: the present file and the previous one. On a full disk only log lines are lost;
// when there is room again, the number of lost lines is written first.
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { createLog, type Log } from "./log.ts";
import type { State } from "./state/state.ts";

export const logPathOf = (state: State) => join(state.directory, "log/hawserd.log");

/** Path of the previous file. */
export const formerLogOf = (path: string) => `${path}.1`;

const limitBytes = 5 * 1024 * 1024;

/** The log of a daemon process: written to the file and, unless it is quiet, to stderr. */
export function openDaemonLog(state: State, quiet: boolean): Log {
  const toFile = openLogFile(logPathOf(state));
  // The reader of stderr may be gone, or its disk full.
  process.stderr.on("error", () => {});
  return createLog((line) => {
    toFile(line);
    if (!quiet) process.stderr.write(line);
  });
}

/** Writes lines, each with its newline. Never throws. */
export function openLogFile(path: string, limit = limitBytes): (line: string) => void {
  let file: number | undefined;
  let lost = 0;
  let isTorn = false;

  function write(text: string): void {
    // Another process of the daemon may have begun a new file in the meantime.
    if (file !== undefined && inodeOf(path) !== fstatSync(file).ino) close();
    file ??= open();
    const size = fstatSync(file).size;
    if (size > 0 && size + Buffer.byteLength(text) > limit) {
      close();
      renameSync(path, formerLogOf(path));
      file = open();
    }
    const bytes = Buffer.from(isTorn ? `\n${text}` : text);
    // A disk that has just become full may accept only the beginning of a line.
    const written = writeSync(file, bytes);
    isTorn = written > 0 && written < bytes.length;
    if (written < bytes.length) throw new Error("The disk is full.");
  }

  function open(): number {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return openSync(path, "a", 0o600);
  }

  function close(): void {
    if (file !== undefined) closeSync(file);
    file = undefined;
  }

  return (line) => {
    const at = new Date().toISOString();
    const gap = JSON.stringify({ at, level: "warn", event: "log lines were lost", lines: lost });
    try {
      write(lost > 0 ? `${gap}\n${line}` : line);
      lost = 0;
    } catch {
      lost++;
    }
  };
}

const inodeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino;
