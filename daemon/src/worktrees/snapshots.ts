// Snapshots of a session's own tree: its files, its HEAD and what was staged, as a commit on no branch.
// Making one changes nothing that the session's git can see. Going back to one writes files, index and
// HEAD, after a snapshot of the present state was made.
//
// Ignored files are in no snapshot and are left alone, except for one that lies where a file is written
// back: the snapshot of the present state includes it. A merge or a rebase in progress does not continue.
import { existsSync, lstatSync, readdirSync, rmSync } from "node:fs";
import { join, relative } from "node:path";
import { GitError, type Git } from "../git/git.ts";
import { commitOf, holdObjects, readHead, type Head } from "./park.ts";
import {
  copyIndex,
  environmentOf,
  gather,
  joinPaths,
  putIn,
  splitPaths,
  within,
  writeTree,
  type OwnIndex,
} from "./working-tree.ts";

export interface Snapshot {
  commit: string;
  tree: string;
  head: Head;
  /** What was staged; null during a conflict. */
  indexTree: string | null;
}

/** A tree that belongs to a session: a worktree of a user's repository, or a clone. */
export interface OwnTree {
  directory: string;
  /** The same as `directory` for a clone. */
  repository: string;
  adminDirectory: string;
  /** The only branch that a revert moves; null in a clone, where every branch is the session's. */
  branch: string | null;
}

export interface Wanted {
  git: Git;
  tree: OwnTree;
  /** The file of our own index. */
  indexFile: string;
  /** Default: 15 seconds for each call of git. */
  deadlineMs?: number;
  signal?: AbortSignal;
}

const snapshotMs = 15_000;
const largestSnapshot = 512 * 1024 * 1024;

export const indexFor = ({ git, tree, indexFile, deadlineMs, signal }: Wanted): OwnIndex => ({
  git,
  directory: tree.directory,
  file: indexFile,
  deadlineMs: deadlineMs ?? snapshotMs,
  signal,
  limitBytes: largestSnapshot,
});

/** Returns the last snapshot if nothing has changed since; otherwise asks for a name and makes one. */
export async function takeSnapshot(
  wanted: Wanted,
  ref: () => string,
  last: Snapshot | null,
): Promise<Snapshot> {
  const { git, tree } = wanted;
  const index = indexFor(wanted);
  const head = await readHead(git, tree.repository, tree.adminDirectory);
  const { tree: files, indexTree } = await readTrees(index, tree.adminDirectory);
  if (last && last.tree === files && last.indexTree === indexTree && isSame(last.head, head)) {
    return last;
  }
  return keep(wanted, ref(), { tree: files, indexTree, head });
}

/** The trees of the files and of what was staged, which are written to the repository. */
export async function readTrees(
  index: OwnIndex,
  adminDirectory: string,
): Promise<Pick<Snapshot, "tree" | "indexTree">> {
  copyIndex(index, join(adminDirectory, "index"));
  const indexTree = await writeTree(index).catch((error: unknown) => {
    // An index with a conflict cannot be written as a tree.
    if (error instanceof GitError && error.reason === "failed") return null;
    throw error;
  });
  await gather(index);
  return { tree: await writeTree(index), indexTree };
}

const isSame = (one: Head, other: Head) => one.commit === other.commit && one.ref === other.ref;

async function keep(
  { git, tree }: Wanted,
  ref: string,
  content: Omit<Snapshot, "commit">,
): Promise<Snapshot> {
  const { head, indexTree } = content;
  const parents = head.commit === null ? [] : [head.commit];
  const staged =
    indexTree === null
      ? []
      : [await makeCommit(git, tree.repository, indexTree, parents, "What was staged.")];
  const commit = await makeCommit(
    git,
    tree.repository,
    content.tree,
    [...parents, ...staged],
    `What a session's worktree held, with HEAD at ${head.ref ?? head.commit ?? "nothing"}.`,
  );
  await git.runIn(tree.repository, "update-ref", {
    operands: [ref, commit],
    deadlineMs: snapshotMs,
  });
  return { commit, ...content };
}

async function makeCommit(
  git: Git,
  repository: string,
  tree: string,
  parents: readonly string[],
  message: string,
): Promise<string> {
  const who = "Hawser <no-reply@hawser.invalid> 0 +0000";
  const lines = [
    `tree ${tree}`,
    ...parents.map((parent) => `parent ${parent}`),
    `author ${who}`,
    `committer ${who}`,
    "",
    message,
    "",
  ];
  const made = await git.runIn(repository, "hash-object", {
    options: ["-tcommit"],
    input: lines.join("\n"),
    deadlineMs: snapshotMs,
  });
  return made.trim();
}

/** Makes a snapshot of the present state, with every file that going back to the target would overwrite. */
export async function keepPresent(
  wanted: Wanted,
  target: Snapshot,
  refs: { snapshot: string; parts: string },
): Promise<void> {
  const { git, tree } = wanted;
  const present = await takeSnapshot(wanted, () => refs.snapshot, null);
  const index = indexFor(wanted);
  const added = await changed(index, "A", present.tree, target.tree);
  const inTheWay = added.flatMap((path) => filesAt(tree.directory, path));
  if (inTheWay.length > 0) {
    await putIn(index, inTheWay);
    await keep(wanted, refs.snapshot, { ...present, tree: await writeTree(index) });
  }
  // The session's branch is about to be moved, and HEAD may be on another one.
  const { ref } = target.head;
  const tip = ref === null ? undefined : await commitOf(git, tree.repository, ref);
  await holdObjects(git, tree.repository, refs.parts, tree.adminDirectory, tip);
}

/** Call it after keepPresent. Overwrites what others changed since then, too. */
export async function goBack(wanted: Wanted, target: Snapshot): Promise<void> {
  const { git, tree } = wanted;
  const { directory } = tree;
  const index = indexFor(wanted);
  await gather(index);
  await leaveIgnored(index, await writeTree(index), target.tree);
  const staged = target.indexTree ?? target.head.commit;
  if (staged !== null) {
    await git.runIn(directory, "read-tree", {
      ...within(index),
      options: ["--reset"],
      operands: [staged],
    });
  }
  await git.runIn(directory, "read-tree", {
    ...within(index),
    environment: environmentOf(index),
    options: ["--reset", "-u"],
    operands: [target.tree],
  });
  await moveHead(wanted, target.head);
  for (const name of underWay) {
    rmSync(join(tree.adminDirectory, name), { recursive: true, force: true });
  }
  if (existsSync(join(tree.adminDirectory, "info", "sparse-checkout"))) {
    await git.runIn(directory, "sparse-checkout reapply", within(index));
  }
}

/** Files that git writes while a merge, a rebase or the like is in progress. */
const underWay = [
  "MERGE_HEAD",
  "MERGE_MODE",
  "MERGE_MSG",
  "AUTO_MERGE",
  "CHERRY_PICK_HEAD",
  "REVERT_HEAD",
  "REBASE_HEAD",
  "rebase-merge",
  "rebase-apply",
  "sequencer",
];

/** A branch that is not the session's belongs to the user, and is not moved. */
async function moveHead({ git, tree }: Wanted, { ref, commit }: Head): Promise<void> {
  const call = { deadlineMs: snapshotMs };
  if (ref !== null) {
    if (isOwnBranch(tree, ref)) await moveBranch(git, tree.directory, ref, commit);
    await git.runIn(tree.directory, "symbolic-ref", { ...call, operands: ["HEAD", ref] });
  }
  if (commit === null) return;
  const now = await readHead(git, tree.repository, tree.adminDirectory);
  if (now.ref !== ref || now.commit !== commit) {
    await git.runIn(tree.directory, "update-ref", { ...call, operands: ["HEAD", commit] });
  }
}

const isOwnBranch = ({ branch }: OwnTree, ref: string) =>
  branch === null ? ref.startsWith("refs/heads/") : ref === `refs/heads/${branch}`;

/** Without a commit, the branch did not exist at that time. */
async function moveBranch(
  git: Git,
  directory: string,
  ref: string,
  commit: string | null,
): Promise<void> {
  const to = commit === null ? { options: ["-d"], operands: [ref] } : { operands: [ref, commit] };
  try {
    await git.runIn(directory, "update-ref", { ...to, deadlineMs: snapshotMs });
  } catch (error) {
    // A branch `a/b` may exist where `a` was. HEAD is then detached at the commit.
    if (!(error instanceof GitError) || error.reason !== "failed") throw error;
  }
}

/** Files that the target's own rules ignore are not removed, even if git tracks them now. */
async function leaveIgnored(index: OwnIndex, present: string, target: string): Promise<void> {
  const rules = (await changed(index, "AMDT", present, target)).filter((path) =>
    /(?:^|\/)\.gitignore$/.test(path),
  );
  if (rules.length === 0) return;
  const removed = new Set(await changed(index, "D", present, target));
  const then: OwnIndex = { ...index, file: `${index.file}.target` };
  const run = (command: "read-tree" | "checkout-index" | "ls-files", call: object) =>
    then.git.runIn(then.directory, command, {
      ...within(then),
      environment: environmentOf(then),
      isBytes: true,
      ...call,
    });
  try {
    await run("read-tree", { operands: [target] });
    for (const path of rules.filter((one) => removed.has(one))) {
      rmSync(join(index.directory, asText(path)), { force: true });
    }
    const back = rules.filter((path) => !removed.has(path));
    if (back.length > 0) await run("checkout-index", { input: joinPaths(back) });
    const ignored = await run("ls-files", {
      options: ["-z", "--others", "--ignored", "--exclude-standard"],
    });
    const left = splitPaths(ignored).filter((path) => removed.has(path));
    if (left.length === 0) return;
    await index.git.runIn(index.directory, "update-index", {
      ...within(index),
      environment: environmentOf(index),
      options: ["--force-remove"],
      input: joinPaths(left),
      isBytes: true,
    });
  } finally {
    rmSync(then.file, { force: true });
  }
}

async function changed(
  index: OwnIndex,
  filter: string,
  from: string,
  to: string,
): Promise<string[]> {
  const listed = await index.git.runIn(index.directory, "diff", {
    ...within(index),
    options: ["--name-only", "-z", "--no-renames", `--diff-filter=${filter}`],
    revisions: [from, to],
    isBytes: true,
  });
  return splitPaths(listed);
}

const asText = (path: string) => Buffer.from(path, "latin1").toString();
const asBytes = (path: string) => Buffer.from(path).toString("latin1");

/** Paths of the files at this path: itself, everything in a directory, or none. */
function filesAt(top: string, path: string): string[] {
  const place = join(top, asText(path));
  const found = lstatSync(place, { throwIfNoEntry: false });
  if (!found) return [];
  if (!found.isDirectory()) return [path];
  return readdirSync(place, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => asBytes(relative(top, join(entry.parentPath, entry.name))));
}
