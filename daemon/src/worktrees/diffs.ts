// Compares a directory with the commit at which its session began. Uncommitted and untracked files count,
// ignored ones do not. Git writes the objects that it needs for this to a directory of the daemon's, so
// that reading a diff leaves nothing in the user's repository.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "@hawser/contract";
import type { Git } from "../git/git.ts";
import { copyIndex, environmentOf, gather, within, type OwnIndex } from "./working-tree.ts";

export interface Compared {
  directory: string;
  baseCommit: string;
  signal: AbortSignal;
}

export interface Diffs {
  /** The changed files in the order of their paths, as many as fit into one reply. Throws GitError. */
  list(compared: Compared): Promise<{ files: FileChange[]; truncated: boolean }>;
  /** The patch of one file; undefined if the file has not changed. Throws GitError. */
  patch(compared: Compared, path: string): Promise<string | undefined>;
}

const diffMs = 25_000;
const longestListing = 512 * 1024;
const longestPatch = 32 * 1024 * 1024;

export function createDiffs(git: Git, scratchDirectory: string): Diffs {
  /** Runs the work with an index of what is on disk, below these paths or everywhere. */
  async function compare<Result>(
    { directory, signal }: Compared,
    below: readonly string[],
    work: (index: OwnIndex) => Promise<Result>,
  ): Promise<Result> {
    const own = mkdtempSync(join(scratchDirectory, "diff-"));
    try {
      const said = await git.runIn(directory, "rev-parse", {
        options: ["--path-format=absolute", "--git-dir", "--git-common-dir"],
        deadlineMs: diffMs,
        signal,
      });
      const [gitDirectory, commonDirectory] = said.split("\n");
      const objects = join(own, "objects");
      mkdirSync(objects);
      const index: OwnIndex = {
        git,
        directory,
        file: join(own, "index"),
        environment: {
          GIT_OBJECT_DIRECTORY: objects,
          GIT_ALTERNATE_OBJECT_DIRECTORIES: join(commonDirectory!, "objects"),
        },
        deadlineMs: diffMs,
        signal,
      };
      copyIndex(index, join(gitDirectory!, "index"));
      await gather(index, below);
      return await work(index);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  }

  const diff = (index: OwnIndex, baseCommit: string, options: string[], operands: string[] = []) =>
    git.runIn(index.directory, "diff", {
      ...within(index),
      environment: environmentOf(index),
      options: ["--cached", "--no-renames", ...options],
      revisions: [baseCommit],
      operands,
      outputLimitBytes: longestPatch,
    });

  return {
    list: (compared) =>
      compare(compared, [], async (index) =>
        fitting(readCounts(await diff(index, compared.baseCommit, ["--numstat", "-z"]))),
      ),
    patch: (compared, path) =>
      compare(compared, [path], async (index) => {
        const found = await diff(index, compared.baseCommit, ["--name-only", "-z"], [path]);
        // A directory's name selects every file below it.
        if (found !== `${path}\0`) return undefined;
        return diff(index, compared.baseCommit, ["--patch"], [path]);
      }),
  };
}

/** Parses lines of `added removed path`; a binary file has hyphens instead of numbers. */
function readCounts(text: string): FileChange[] {
  return text
    .split("\0")
    .filter((line) => line !== "")
    .map((line) => {
      const [, added, removed, path] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(line) ?? [];
      return { path: path ?? line, added: Number(added) || 0, removed: Number(removed) || 0 };
    });
}

function fitting(files: FileChange[]): { files: FileChange[]; truncated: boolean } {
  let bytes = 0;
  const count = files.findIndex((file) => {
    bytes += Buffer.byteLength(JSON.stringify(file)) + 1;
    return bytes > longestListing;
  });
  return count === -1
    ? { files, truncated: false }
    : { files: files.slice(0, count), truncated: true };
}
