// `hawserd logs`: prints the daemon's log for people, one line per event.
import { closeSync, fstatSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { formerLogOf, logPathOf } from "../log-file.ts";
import { UsageError, type CommandLine } from "./command.ts";
import { print, printError } from "./print.ts";

const lookEveryMs = 200;

export const logs: CommandLine = {
  usage: "logs [-n <lines>] [-f]",
  summary: "prints the last 50 lines of the daemon's log; -f follows it",
  needsState: true,
  options: { lines: { type: "string", short: "n" }, follow: { type: "boolean", short: "f" } },
  async run({ state, options: { lines = "50", follow } }) {
    const wanted = Number(lines);
    if (!Number.isSafeInteger(wanted) || wanted < 0) {
      throw new UsageError(`"${String(lines)}" is not a number of lines.`);
    }
    const path = logPathOf(state);
    const end = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    const written = [read(formerLogOf(path)), read(path).subarray(0, end)]
      .flatMap((bytes) => bytes.toString().split("\n"))
      .filter(Boolean);
    if (written.length === 0) printError(`There is nothing in ${path} yet.`);
    for (const line of wanted === 0 ? [] : written.slice(-wanted)) print(readable(line));
    if (follow) await followFile(path, end);
  },
};

/** Prints what is added, also after the log has begun a new file, until it is stopped. */
async function followFile(path: string, from: number): Promise<never> {
  let file: number | undefined;
  let at = from;
  let rest = "";
  for (;;) {
    file ??= open(path);
    if (file !== undefined) {
      const fresh = Buffer.alloc(Math.max(0, fstatSync(file).size - at));
      at += readSync(file, fresh, 0, fresh.length, at);
      const lines = (rest + fresh.toString()).split("\n");
      rest = lines.pop()!;
      for (const line of lines) print(readable(line));
      if (fresh.length === 0 && inodeOf(path) !== fstatSync(file).ino) {
        closeSync(file);
        file = undefined;
        at = 0;
        continue;
      }
    }
    await pause(lookEveryMs);
  }
}

/** The time, the event, and the other fields as name=value; a line that is no JSON stays as it is. Not yet safe to print. */
function readable(line: string): string {
  try {
    const { at, level, event, ...fields } = JSON.parse(line) as Record<string, unknown>;
    const rest = Object.entries(fields)
      .filter(([, value]) => value !== null)
      .map(
        ([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`,
      );
    return [at, level === "warn" ? "WARN" : "    ", event, ...rest].join("  ");
  } catch {
    return line;
  }
}

function read(path: string): Buffer {
  const file = open(path);
  if (file === undefined) return Buffer.alloc(0);
  try {
    return readFileSync(file);
  } finally {
    closeSync(file);
  }
}

function open(path: string): number | undefined {
  try {
    return openSync(path, "r");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const inodeOf = (path: string) => statSync(path, { throwIfNoEntry: false })?.ino;
