// Runs test files with Node's own runner against one private PostgreSQL cluster, which every test
// process finds in HAWSER_TEST_POSTGRES. The cluster is stopped however the run ends.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { globSync } from "node:fs";
import { constants } from "node:os";
import { matchesGlob, normalize } from "node:path";
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

/** Runs the files and answers the exit code for this process. */
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
  const stop = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => {
      stoppedBy ??= signal;
      stop.resolve();
    });
  }
  await using cluster = await startPostgres();
  if (!stoppedBy) {
    const runner = spawn(
      process.execPath,
      ["--test", `--test-concurrency=${concurrency}`, "--test-reporter=spec", ...files],
      {
        cwd: root,
        stdio: "inherit",
        env: {
          ...process.env,
          HAWSER_TEST_POSTGRES: cluster.url,
          // Every test file is a process of its own, and starts more of them.
          NODE_COMPILE_CACHE: `${root}/node_modules/.cache/compiled`,
          ...env,
        },
      },
    );
    void stop.promise.then(() => runner.kill(stoppedBy));
    const [code] = (await once(runner, "exit")) as [number | null];
    if (!stoppedBy) return code ?? 1;
  }
  return 128 + constants.signals[stoppedBy];
}
