// Compares a directory with the commit at which its session began, or with its baseline if it had none.
// Uncommitted and untracked files count, ignored ones do not. Git writes the objects that it needs for this
// to a directory of the daemon's, so that reading a diff leaves nothing in the user's repository.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { FileChange } from "@hawser/contract";
import type { Git } from "../git/git.ts";
import { baselineEnvironment } from "./baselines.ts";
import { copyIndex, environmentOf, gather, within, type OwnIndex } from "./working-tree.ts";

export interface Compared {
  directory: string;
  /** The id of a commit, or of the baseline's tree. */
  base: string;
  /** Git's directory of the baseline, if `base` is in it. */
  baseline?: string;
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

/** `closedPaths`: absolute paths whose contents no diff shows. */
export function createDiffs(
  git: Git,
  scratchDirectory: string,
  closedPaths: readonly string[] = [],
): Diffs {
  /** Runs the work with an index of what is on disk, below these paths or everywhere. */
  async function compare<Result>(
    { directory, baseline, signal }: Compared,
    below: readonly string[],
    work: (index: OwnIndex) => Promise<Result>,
  ): Promise<Result> {
    const own = mkdtempSync(join(scratchDirectory, "diff-"));
    try {
      const [gitDirectory, commonDirectory] =
        baseline === undefined ? await findGit(directory, signal) : [baseline, baseline];
      const objects = join(own, "objects");
      mkdirSync(objects);
      const index: OwnIndex = {
        git,
        directory,
        file: join(own, "index"),
        environment: {
          ...(baseline !== undefined && baselineEnvironment(baseline, directory)),
          GIT_OBJECT_DIRECTORY: objects,
          GIT_ALTERNATE_OBJECT_DIRECTORIES: join(commonDirectory!, "objects"),
        },
        deadlineMs: diffMs,
        closedPaths,
        signal,
      };
      copyIndex(index, join(gitDirectory!, "index"));
      await gather(index, below);
      return await work(index);
    } finally {
      rmSync(own, { recursive: true, force: true });
    }
  }

  async function findGit(directory: string, signal: AbortSignal): Promise<string[]> {
    const said = await git.runIn(directory, "rev-parse", {
      options: ["--path-format=absolute", "--git-dir", "--git-common-dir"],
      deadlineMs: diffMs,
      signal,
    });
    return said.split("\n");
  }

  const diff = (index: OwnIndex, base: string, options: string[], operands: string[] = []) =>
    git.runIn(index.directory, "diff", {
      ...within(index),
      environment: environmentOf(index),
      options: ["--cached", ...options],
      revisions: [base],
      operands,
      outputLimitBytes: longestPatch,
    });
  const list = async (index: OwnIndex, base: string) =>
    readChanges(await diff(index, base, [...findRenames, "--raw", "--numstat", "-z"]));

  return {
    list: (compared) =>
      compare(compared, [], async (index) => fitting(await list(index, compared.base))),
    async patch(compared, path) {
      const { base } = compared;
      const alone = await compare(compared, [path], async (index) => {
        const found = await diff(index, base, ["--no-renames", "--name-status", "-z"], [path]);
        const [status, name, ...others] = found.split("\0");
        // A directory's name selects every file below it.
        if (name !== path || others.length > 1) return undefined;
        const patch = await diff(index, base, ["--no-renames", "--patch"], [path]);
        return { isAdded: status === "A", patch };
      });
      if (!alone?.isAdded) return alone?.patch;
      // Only a comparison of all files shows whether it is another one with a new name.
      return compare(compared, [], async (index) => {
        const { previousPath } = (await list(index, base)).find((each) => each.path === path) ?? {};
        if (!previousPath) return alone.patch;
        return diff(index, base, [...findRenames, "--patch"], [previousPath, path]);
      });
    },
  };
}

/** Comparing each new file with each deleted one takes long, so among many only equal ones are found. */
const findRenames = ["--find-renames", "-l200"];

const statuses: Record<string, FileChange["status"]> = { A: "added", D: "deleted", R: "renamed" };

/**
 * Parses git's `--raw --numstat -z`: records of both lists, in the same order. A renamed file has two paths, and a
 * binary one hyphens instead of numbers.
 */
function readChanges(text: string): FileChange[] {
  const parts = text.split("\0");
  const statusOf = new Map<string, FileChange["status"]>();
  const files: FileChange[] = [];
  for (let at = 0; at < parts.length - 1; at++) {
    const part = parts[at]!;
    if (part.startsWith(":")) {
      const letter = / ([A-Z])\d*$/.exec(part)?.[1] ?? "";
      if (letter === "R") at++;
      statusOf.set(parts[++at] ?? "", statuses[letter] ?? "modified");
      continue;
    }
    const [, added, removed, own = part] = /^(\d+|-)\t(\d+|-)\t([^]*)$/.exec(part) ?? [];
    const previousPath = own === "" ? (parts[++at] ?? "") : null;
    const path = own === "" ? (parts[++at] ?? "") : own;
    files.push({
      path,
      added: Number(added) || 0,
      removed: Number(removed) || 0,
      status: statusOf.get(path) ?? "modified",
      previousPath,
      isBinary: added === "-",
    });
  }
  return files;
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
