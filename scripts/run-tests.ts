// Runs test files with Node's own runner against one private PostgreSQL cluster, whose address every test
// process reads in HAWSER_TEST_POSTGRES. The cluster is stopped however the run ends.
import { globSync } from "node:fs";
import { constants } from "node:os";
import { join, matchesGlob, normalize, relative } from "node:path";
import { finished } from "node:stream/promises";
import { run } from "node:test";
import { spec } from "node:test/reporters";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { bundlePrograms } from "./bundle-programs.ts";

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

/** Files that are run in this order, so many at once. */
export interface TestGroup {
  files: string[];
  atOnce: number;
}

/** How long a file took, without the start of its process. */
interface FileTime {
  file: string;
  ms: number;
}

const shownFiles = 20;
/** A file that takes longer hangs: it is ended and has failed. */
const longestFileMs = 15 * 60_000;

/**
 * Puts the files whose path contains one of `longest` first, in the order of `longest`, so that no long file
 * is left at the end.
 */
export function longestFirst(files: string[], longest: string[]): string[] {
  const named = longest.flatMap((part) => files.filter((file) => file.includes(part)));
  return [...new Set([...named, ...files])];
}

/** Runs one group after the other and returns the exit code for this process. */
export async function runTests(groups: TestGroup[], env: Record<string, string>): Promise<number> {
  if (groups.every(({ files }) => files.length === 0)) {
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
  using programs = await bundlePrograms(root);
  Object.assign(process.env, {
    HAWSER_TEST_PROGRAMS: programs.directory,
    HAWSER_TEST_POSTGRES: cluster.url,
    // Every test file is a process of its own, and starts more of them.
    NODE_COMPILE_CACHE: join(root, "node_modules/.cache/compiled"),
    ...env,
  });
  const times: FileTime[] = [];
  let hasFailed = false;
  for (const { files, atOnce } of groups) {
    if (files.length === 0 || hasFailed || stoppedBy) continue;
    hasFailed = !(await runGroup(files, atOnce, stop.signal, times));
  }
  if (stoppedBy) return 128 + constants.signals[stoppedBy];
  // What failed stays the last thing that is printed.
  if (hasFailed) return 1;
  console.log(slowestFiles(times));
  return 0;
}

/** Prints what the tests report, and adds how long each file took. Returns whether all tests passed. */
async function runGroup(
  files: string[],
  concurrency: number,
  signal: AbortSignal,
  times: FileTime[],
): Promise<boolean> {
  const tests = run({
    cwd: root,
    files: files.map((file) => join(root, file)),
    concurrency,
    signal,
    timeout: longestFileMs,
  });
  let hasPassed = true;
  tests.on("test:fail", ({ todo }) => {
    if (todo === undefined || todo === false) hasPassed = false;
  });
  tests.on("test:summary", ({ file, duration_ms, success }) => {
    if (!success) hasPassed = false;
    if (file !== undefined) times.push({ file: relative(root, file), ms: duration_ms });
  });
  const text = tests.compose(spec);
  text.pipe(process.stdout, { end: false });
  await finished(text);
  return hasPassed;
}

export function slowestFiles(times: FileTime[]): string {
  return times
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, shownFiles)
    .map(({ file, ms }) => `ℹ slowest ${(ms / 1000).toFixed(1).padStart(6)} s  ${file}`)
    .join("\n");
}
