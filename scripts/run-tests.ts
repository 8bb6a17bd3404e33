// Runs test files with Node's own runner against one private PostgreSQL cluster, whose address every test
// process reads in HAWSER_TEST_POSTGRES. The cluster is stopped however the run ends.
import { globSync } from "node:fs";
import { constants } from "node:os";
import { join, matchesGlob, normalize } from "node:path";
import { run } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { startPostgres } from "@hawser/testkit/postgres.ts";
import { bundlePrograms } from "./bundle-programs.ts";
import { machinePace, runPaced, type TestFiles } from "./pace.ts";
import { createReport, slowestFiles } from "./test-report.ts";

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

/** Runs the files at the pace of the machine, in this order. Returns the exit code for this process. */
export async function runTests(files: TestFiles, env: Record<string, string>): Promise<number> {
  if (files.together.length + files.alone.length === 0) {
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
  const report = createReport(root);
  await runPaced(files, machinePace, async (file) => {
    if (!stop.signal.aborted) report.add(await runFile(file, stop.signal));
  });
  const times = await report.end();
  if (stoppedBy) return 128 + constants.signals[stoppedBy];
  // What failed stays the last thing that is printed.
  if (!times) return 1;
  console.log(slowestFiles(times));
  return 0;
}

async function runFile(file: string, signal: AbortSignal): Promise<TestEvent[]> {
  const files = [join(root, file)];
  const events: TestEvent[] = [];
  for await (const event of run({ cwd: root, files, signal, timeout: longestFileMs })) {
    events.push(event as TestEvent);
  }
  return events;
}
