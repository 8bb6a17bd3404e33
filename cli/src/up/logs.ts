// `hawser logs [part]`: the last lines of the logs, and with -f every new one.
import { closeSync, existsSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { Argument, InvalidArgumentError, type Command } from "commander";
import { dataDirectory } from "../settings.ts";
import { safeText } from "../terminal.ts";
import { hostStateOf } from "./host.ts";
import { logOf } from "./log-size.ts";
import { partNames } from "./run-state.ts";

const names = ["up", ...partNames];

interface LogsOptions {
  data?: string;
  follow?: boolean;
  lines: number;
}

export function addLogs(program: Command): void {
  program
    .command("logs")
    .description("print the last lines of the logs")
    .addArgument(new Argument("[part]", "only the log of this part").choices(names))
    .option("--data <directory>", "the data directory (default ~/.hawser-server)")
    .option("-f, --follow", "print new lines until Ctrl-C")
    .option("-n, --lines <number>", "how many lines of each log", count, 20)
    .action(async (part: string | undefined, options: LogsOptions) => {
      const data = resolve(dataDirectory(options.data));
      const files = filesOf(data).filter(({ name }) => part === undefined || name === part);
      const print = (name: string) => (line: string) =>
        process.stdout.write(
          `${part === undefined ? `${name.padEnd(11)} | ` : ""}${safeText(line)}
`,
        );
      const followers = files.map(({ name, file }) => openTail(file, options.lines, print(name)));
      while (options.follow) {
        await pause(200);
        followers.forEach((readMore) => readMore());
      }
    });
}

function count(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("It must be a whole number.");
}

/** The daemon writes a log of its own; the other file has what it prints if it cannot do that. */
function filesOf(data: string): { name: string; file: string }[] {
  const own = join(hostStateOf(data), "log/hawserd.log");
  return names.flatMap((name) => [
    { name, file: logOf(data, name) },
    ...(name === "host" ? [{ name, file: own }] : []),
  ]);
}

/** Prints the last lines, and returns a function that prints those that were added since. */
export function openTail(file: string, lines: number, print: (line: string) => void): () => void {
  const text = existsSync(file) ? readFileSync(file, "utf8") : "";
  const complete = text.slice(0, text.lastIndexOf("\n") + 1);
  const all = complete.split("\n").slice(0, -1);
  if (lines > 0) all.slice(-lines).forEach(print);
  let at = Buffer.byteLength(complete);
  let inode = statSync(file, { throwIfNoEntry: false })?.ino;
  let rest = Buffer.alloc(0);
  return () => {
    const found = statSync(file, { throwIfNoEntry: false });
    if (!found) return;
    // A log that became too large was emptied or replaced.
    if (found.ino !== inode || found.size < at) {
      at = 0;
      rest = Buffer.alloc(0);
    }
    inode = found.ino;
    if (found.size === at) return;
    const bytes = Buffer.concat([rest, readFrom(file, at, found.size - at)]);
    at = found.size;
    const end = bytes.lastIndexOf(0x0a) + 1;
    rest = Buffer.from(bytes.subarray(end));
    bytes.subarray(0, end).toString("utf8").split("\n").slice(0, -1).forEach(print);
  };
}

function readFrom(file: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  const descriptor = openSync(file, "r");
  try {
    return bytes.subarray(0, readSync(descriptor, bytes, 0, length, position));
  } finally {
    closeSync(descriptor);
  }
}
