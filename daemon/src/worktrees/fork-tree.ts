// The state of a session's own tree, for a fork: its commit, what was staged, and its files. Reading it changes
// nothing in the original, which may be at work. Ignored files are not part of it, and a merge or a rebase in
// progress does not continue in the fork.
import { constants, createWriteStream, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { lstat, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { GitError, type Git } from "../git/git.ts";
import { objectToGitOf } from "./own-git.ts";
import { readHead } from "./park.ts";
import { goBack, indexFor, readTrees, type OwnTree, type Snapshot } from "./snapshots.ts";

/** Where the tree of the original is now. */
export interface ForkSource {
  tree: OwnTree;
  /** A parked worktree has no git directory of its own: git runs in its repository instead. */
  isParkedWorktree: boolean;
  /** The commit of its branch, which does not exist while it is parked. */
  branchTip: string | null;
}

export type TreeState = Pick<Snapshot, "tree" | "indexTree" | "head">;

interface Bounds {
  /** A temporary file. */
  indexFile: string;
  deadlineMs: number;
  signal: AbortSignal;
}

/** Throws GitError. */
export async function readTreeState(
  git: Git,
  source: ForkSource,
  bounds: Bounds,
): Promise<TreeState> {
  const { tree, isParkedWorktree, branchTip } = source;
  const { repository, adminDirectory, branch } = tree;
  if (!isParkedWorktree) check(tree);
  const index = {
    ...indexFor({ git, tree, ...bounds }),
    ...(isParkedWorktree && { gitIn: repository }),
  };
  try {
    const head = await readHead(git, repository, adminDirectory);
    const isOnBranch = head.ref !== null && head.ref === `refs/heads/${branch}`;
    // A branch of this name is another one now.
    const commit = isParkedWorktree && isOnBranch ? branchTip : head.commit;
    return { ...(await readTrees(index, adminDirectory)), head: { ...head, commit } };
  } finally {
    rmSync(bounds.indexFile, { force: true });
  }
}

/** Fills an empty tree of a fork. Throws GitError. */
export async function fillTree(
  git: Git,
  tree: OwnTree,
  state: TreeState,
  bounds: Bounds,
): Promise<void> {
  check(tree);
  rmSync(bounds.indexFile, { force: true });
  const ref = tree.branch === null ? state.head.ref : `refs/heads/${tree.branch}`;
  const head = { ref, commit: state.head.commit };
  try {
    await goBack({ git, tree, ...bounds }, { ...state, head, commit: "" });
  } finally {
    rmSync(bounds.indexFile, { force: true });
  }
}

/**
 * What a clone's git directory needs in a fork. `objects` is the last, so that every object exists that a ref
 * names. Reflogs, hooks, submodules and our own refs are left out.
 */
const copied = [
  "HEAD",
  "config",
  "config.worktree",
  "packed-refs",
  "shallow",
  "info/exclude",
  "refs",
  "objects",
];
const plainly = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
const largestCopy = 32 * 2 ** 30;

/**
 * Copies the git directory of a clone: files and directories only. An agent could have put a link there, through
 * which git would later write. Throws GitError if it changes meanwhile.
 */
export async function copyGit(from: string, to: string, signal: AbortSignal): Promise<void> {
  let left = largestCopy;
  const copy = async (path: string): Promise<void> => {
    signal.throwIfAborted();
    const found = await lstat(join(from, path)).catch(() => undefined);
    if (!found) throw changed();
    if (found.isDirectory()) {
      mkdirSync(join(to, path), { recursive: true });
      for (const name of await readdir(join(from, path))) {
        if (!isLeftOut(path, name)) await copy(join(path, name));
      }
      return;
    }
    await copyFile(path);
  };
  const copyFile = async (path: string) => {
    // Opened without following a link, and without waiting for the writer of a pipe.
    await using file = await open(join(from, path), plainly).catch(() => undefined);
    const found = await file?.stat();
    if (!file || !found?.isFile()) throw new GitError("unsafe_repository", notPlain(path));
    left -= found.size;
    if (left < 0) throw new GitError("too_much_output", tooLarge);
    if (found.size === 0) return writeFileSync(join(to, path), "", { flag: "wx" });
    const reading = file.createReadStream({ end: found.size - 1, autoClose: false });
    await pipeline(reading, createWriteStream(join(to, path), { flags: "wx" }), { signal });
  };
  mkdirSync(join(to, "info"), { recursive: true });
  for (const path of copied) {
    const isThere = await lstat(join(from, path)).then(
      () => true,
      () => false,
    );
    if (isThere) await copy(path);
  }
  check({
    directory: join(to, ".."),
    repository: join(to, ".."),
    adminDirectory: to,
    branch: null,
  });
}

/** Files that other git processes are just writing, and our own refs. */
function isLeftOut(directory: string, name: string): boolean {
  if (name.endsWith(".lock")) return true;
  if (directory === "refs") return name === "hawser";
  return directory.startsWith("objects") && name.startsWith("tmp_");
}

const changed = () =>
  new GitError("failed", "The clone changed while it was copied. Fork the session again.");
const notPlain = (path: string) =>
  `The clone's git directory has something else than a file at ${path}. Put that right on the host.`;
const tooLarge = `The clone is larger than ${largestCopy / 2 ** 30} GiB, so it is not copied.`;

function check(tree: OwnTree): void {
  const objection = objectToGitOf(tree);
  if (objection !== undefined) throw new GitError("unsafe_repository", objection);
}
