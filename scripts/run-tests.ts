// Runs test files with Node's own runner against one private PostgreSQL cluster, whose address every test
// process reads in HAWSER_TEST_POSTGRES. The cluster is stopped however the run ends.
import { globSync } from "node:fs";
import { constants } from "node:os";
import { join, matchesGlob, normalize, relative } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { startPostgres } from "@hawser/testkit/postgres.ts";

/** The repository's root; every script works from here, wherever it was started. */
export const root = normalize(`${import.meta.dirname}/..`);

/**
 * The test files under `globs` that one of the patterns names, by a glob or by a part of the path;
 * all of them when no pattern is given.
 */
export function chooseTestFiles(globs: string[], patterns: string[]): string[] {
  const files = globSync(globs, { cwd: root, exclude: ["**/node_modules/**"] });
  return chooseFiles(files, patterns);
}

/** The part of `chooseTestFiles` that needs no disk. */
export function chooseFiles(files: string[], patterns: string[]): string[] {
  const wanted = patterns.map((pattern) => normalize(pattern));
  return files
    .filter(
      (file) =>
        wanted.length === 0 ||
        wanted.some((pattern) => file.includes(pattern) || matchesGlob(file, pattern)),
    )
    .sort();
}

/** How long a file took, without the start of its process. */
export interface FileTime {
  file: string;
  ms: number;
}

const shownFiles = 20;

/** Runs the files in this order and returns the exit code for this process. */
export async function runTests(
  files: string[],
  env: Record<string, string>,
  concurrency: number,
): Promise<number> {
  if (files.length === 0) {
    console.error(
      "No test file matches; give a part of a test file's path, or nothing to run all.",
    );
    return 1;
  }
  let stoppedBy: "SIGINT" | "SIGTERM" | undefined;
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      stoppedBy ??= signal;
      stop.abort();
    });
  }
  await using cluster = await startPostgres();
  if (!stoppedBy) {
    Object.assign(process.env, {
      HAWSER_TEST_POSTGRES: cluster.url,
      // Every test file is a process of its own, and starts more of them.
      NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
      ...env,
    });
    const isPassed = await report(
      run({
        cwd: root,
        files: files.map((file) => join(root, file)),
        concurrency,
        signal: stop.signal,
      }),
    );
    if (!stoppedBy) return isPassed ? 0 : 1;
  }
  return 128 + constants.signals[stoppedBy];
}

/** Prints what the tests report, and then the slowest files. Returns whether all tests passed. */
async function report(tests: ReturnType<typeof run>): Promise<boolean> {
  let isPassed = true;
  const times: FileTime[] = [];
  tests.on("test:fail", ({ todo }) => {
    if (todo === undefined || todo === false) isPassed = false;
  });
  tests.on("test:summary", ({ file, duration_ms, success }) => {
    if (!success) isPassed = false;
    if (file !== undefined) times.push({ file: relative(root, file), ms: duration_ms });
  });
  const text = tests.compose(spec);
  text.pipe(process.stdout, { end: false });
  await finished(text);
  console.log(slowestFiles(times));
  return isPassed;
}

export function slowestFiles(times: FileTime[]): string {
  return times
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, shownFiles)
    .map(({ file, ms }) => `ℹ slowest ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
    .join("\n");
}
