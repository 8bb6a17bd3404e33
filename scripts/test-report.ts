// Prints what test files report, one file after the other although several run at once: Node's own report,
// the totals of all files, and what failed.
import { once } from "node:events";
import { relative } from "node:path";
import { spec, type TestEvent } from "node:test/reporters";

/** How long a file took, without the start of its process. */
export interface FileTime {
  file: string;
  ms: number;
}

export interface Report {
  /** Prints the events of a file that has ended. */
  add: (events: readonly TestEvent[]) => void;
  /** Prints the totals and what failed. Returns the time of each file; undefined if a test failed. */
  end: () => Promise<FileTime[] | undefined>;
}

const shownFiles = 20;
const startedAt = performance.now();

/** `root`: files are named relative to it. */
export function createReport(root: string): Report {
  const printer = new spec();
  printer.pipe(process.stdout, { end: false });
  const times: FileTime[] = [];
  let hasFailed = false;
  const totals = { tests: 0, pass: 0, fail: 0, skipped: 0 };

  function add(events: readonly TestEvent[]): void {
    for (const event of events) {
      if (isOfRun(event)) continue;
      if (event.type === "test:fail" && !event.data.todo) {
        hasFailed = true;
        totals.fail++;
      }
      if (event.type === "test:summary") {
        const { file, duration_ms: ms, success, counts } = event.data;
        hasFailed ||= !success;
        times.push({ file: relative(root, file!), ms });
        totals.tests += counts.tests;
        totals.pass += counts.passed;
        totals.skipped += counts.skipped + counts.todo;
      }
      printer.write(event);
    }
  }

  async function end(): Promise<FileTime[] | undefined> {
    const ms = Math.round(performance.now() - startedAt);
    for (const [name, value] of Object.entries({ ...totals, duration_ms: ms })) {
      const data = { nesting: 0, message: `${name} ${value}`, level: "info" };
      printer.write({ type: "test:diagnostic", data });
    }
    printer.end();
    await once(printer, "end");
    return hasFailed ? undefined : times;
  }

  return { add, end };
}

/** Whether an event is about the run of a single file, as Node sees it, and not about the file's tests. */
const isOfRun = ({ type, data }: TestEvent) =>
  /^test:(?:summary|plan|diagnostic)$/.test(type) && !(data && "file" in data && data.file);

export function slowestFiles(times: FileTime[]): string {
  return times
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, shownFiles)
    .map(({ file, ms }) => `ℹ slowest ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
    .join("\n");
}
