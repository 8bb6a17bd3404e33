// Parks a session's own tree. The directory of a worktree, and git's directory for it, are moved out of
// the repository; refs keep every object that they name, so that garbage collection keeps them. The branch
// is deleted. A clone is moved as it is, and nothing in it is read. Each step can be repeated after a
// crash. Nothing is copied, except git's few files if they are on another disk, so that a large tree takes
// no longer than a small one.
//
// An agent has worked in that directory and may have written anything into it. So the paths to move come
// from the record that was written before the agent began, never from the directory itself.
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../directories/handle.ts";
import { GitError, type Git } from "../git/git.ts";
import { replaceFile } from "../state/replace-file.ts";
import { readParked, recordName, type ParkedRecord, type ParkedSession } from "./parked-record.ts";
import { refsOf } from "./refs.ts";

interface Parking {
  sessionId: string;
  /** The directory of its tree. */
  worktree: string;
  /** The directory that contains `tree`, `admin` and `parked.json` afterwards. */
  parked: string;
  /** Null for a clone, which has no other repository. */
  kept: KeptWorktree | null;
  /** What a session that is restored from it needs to know. */
  session: ParkedSession | null;
  now: number;
}

const gitMs = 10_000;
const largestNamed = 4 * 1024 * 1024;

/** A worktree that is to be parked. */
export interface KeptWorktree {
  repository: string;
  branch: string;
  /** Null if the worktree was never made. */
  adminDirectory: string | null;
}

export async function parkTree(git: Git, parking: Parking): Promise<void> {
  const { sessionId, worktree, parked, kept, session, now } = parking;
  const { repository = null, branch = null, adminDirectory = null } = kept ?? {};
  const refs = refsOf(sessionId);
  const isThere = isDirectory(worktree);
  // If the user has removed the repository, only files are left to keep.
  const isRepositoryThere = repository !== null && existsSync(repository);
  const hasFiles = isThere || (adminDirectory !== null && isDirectory(adminDirectory));
  // Left by an attempt that a crash or a full disk interrupted, or by a restore that had begun.
  const before = readParked(parked);
  let branchTip = before?.branchTip ?? null;
  if (isRepositoryThere && branch !== null && (hasFiles || !before)) {
    const tip = await commitOf(git, repository, `refs/heads/${branch}`);
    if (tip !== undefined) await name(git, repository, refs.parkedBranch, tip);
    branchTip = tip ?? branchTip;
  }
  if (hasFiles) {
    mkdirSync(parked, { recursive: true, mode: 0o700 });
    const record: ParkedRecord = {
      repository,
      branch,
      branchTip,
      adminDirectory,
      worktree,
      session: session ?? before?.session ?? null,
      parkedAt: before?.parkedAt ?? now,
    };
    replaceFile(join(parked, recordName), record);
  }
  if (adminDirectory !== null && isDirectory(adminDirectory)) {
    if (isRepositoryThere) {
      const tip = await tipOf(git, repository, adminDirectory);
      if (tip !== undefined) await name(git, repository, refs.parked, tip);
      await holdObjects(git, repository, refs.parkedParts, adminDirectory);
    }
    moveAdmin(adminDirectory, join(parked, "admin"));
  }
  if (isThere) moveTree(worktree, parked);
  if (isRepositoryThere && branch !== null && branchTip !== null) {
    await deleteBranch(git, repository, branch, branchTip);
  }
}

const name = (git: Git, repository: string, ref: string, object: string) =>
  git.runIn(repository, "update-ref", { operands: [ref, object], deadlineMs: gitMs });

async function deleteBranch(git: Git, repository: string, branch: string, keptTip: string) {
  // The branch is gone, or is another one with the same name, which is the user's.
  if ((await commitOf(git, repository, `refs/heads/${branch}`)) !== keptTip) return;
  // Git refuses if the branch is checked out elsewhere: then it is the user's.
  await git.runIn(repository, "branch", {
    options: ["--delete", "--force", "--quiet"],
    operands: [branch],
    deadlineMs: gitMs,
  });
}

/** Names a commit whose tree and parents are all the objects that git's files for the tree name. */
export async function holdObjects(
  git: Git,
  repository: string,
  ref: string,
  adminDirectory: string,
  also?: string,
): Promise<void> {
  const tip = await tipOf(git, repository, adminDirectory);
  const named = [...namesIn(adminDirectory), ...(also === undefined ? [] : [also])];
  const staged = await stagedIn(git, repository, join(adminDirectory, "index"), tip);
  const asked = [...new Set([...named, ...staged])];
  const types = await git.runIn(repository, "cat-file", {
    input: asked.map((object) => `${object}\n`).join(""),
    deadlineMs: gitMs,
    outputLimitBytes: 64 * 1024 * 1024,
  });
  const objects = types
    .split("\n")
    .map((line) => line.split(" "))
    .filter((words): words is [string, string, string] => words.length === 3);
  const commits = objects.filter(([, type]) => type === "commit").map(([object]) => object);
  const parts = objects.filter(([, type]) => type === "blob" || type === "tree");
  if (commits.length + parts.length === 0) return;
  const listing = parts
    .map(
      ([object, type]) => `${type === "tree" ? "040000" : "100644"} ${type} ${object}\t${object}\n`,
    )
    .join("");
  const keptTree = await git.runIn(repository, "mktree", { input: listing, deadlineMs: gitMs });
  const lines = [
    `tree ${keptTree.trim()}`,
    ...commits.map((commit) => `parent ${commit}`),
    "author Hawser <hawser@localhost> 0 +0000",
    "committer Hawser <hawser@localhost> 0 +0000",
    "",
    "What a session's tree names.",
    "",
  ];
  const holder = await git.runIn(repository, "hash-object", {
    options: ["-tcommit"],
    input: lines.join("\n"),
    deadlineMs: gitMs,
  });
  await name(git, repository, ref, holder.trim());
}

/** The commit of the worktree's HEAD; undefined on a branch without commits. */
async function tipOf(
  git: Git,
  repository: string,
  adminDirectory: string,
): Promise<string | undefined> {
  return (await readHead(git, repository, adminDirectory)).commit ?? undefined;
}

export interface Head {
  commit: string | null;
  /** Full name of the ref that HEAD follows; null if HEAD is detached. */
  ref: string | null;
}

export async function readHead(
  git: Git,
  repository: string,
  adminDirectory: string,
): Promise<Head> {
  const head = textOfHead(adminDirectory);
  const ref = followedIn(head);
  const target = ref ?? (isObjectName(head) ? head : null);
  const commit = target === null ? undefined : await commitOf(git, repository, target);
  return { commit: commit ?? null, ref };
}

/** The ref that HEAD follows; null if it follows none. */
export const followedBy = (adminDirectory: string) => followedIn(textOfHead(adminDirectory));

const textOfHead = (adminDirectory: string) =>
  readSmallFile(join(adminDirectory, "HEAD"), 4096)?.trim() ?? "";

const followedIn = (head: string) => /^ref: (refs\/\S+)$/.exec(head)?.[1] ?? null;

/** undefined if the ref is missing. Throws if it cannot be read, so that it does not pass for missing. */
export async function commitOf(
  git: Git,
  repository: string,
  target: string,
): Promise<string | undefined> {
  try {
    const found = await git.runIn(repository, "rev-parse", {
      options: ["--verify", "--quiet"],
      revisions: [`${target}^{commit}`],
      deadlineMs: gitMs,
    });
    return found.trim();
  } catch (error) {
    if (error instanceof GitError && error.exitCode === 1) return undefined;
    throw error;
  }
}

/** Blobs that are in the index and not in the tip, including every stage of a conflict. */
async function stagedIn(
  git: Git,
  repository: string,
  index: string,
  tip: string | undefined,
): Promise<string[]> {
  if (!existsSync(index)) return [];
  const call = {
    environment: { GIT_INDEX_FILE: index },
    deadlineMs: gitMs,
    outputLimitBytes: 256 * 1024 * 1024,
  };
  const unmerged = await git.runIn(repository, "ls-files", { ...call, options: ["--unmerged"] });
  const changed =
    tip === undefined
      ? await git.runIn(repository, "ls-files", { ...call, options: ["--stage"] })
      : await git.runIn(repository, "diff", {
          ...call,
          options: ["--cached", "--raw", "--no-abbrev", "--no-renames"],
          revisions: [tip],
        });
  return objectNames(unmerged + changed);
}

/** Files in git's directory of a clone that name no objects of the session's own, or far too many. */
const unnamed = new Set([
  "objects",
  "modules",
  "worktrees",
  "hooks",
  "info",
  "packed-refs",
  "refs/hawser",
  "refs/remotes",
  "refs/tags",
  "logs/refs/remotes",
]);

/** Every object that git's files for the tree name: reflogs, merges, rebases, refs of its own. */
function namesIn(top: string, below = ""): string[] {
  const found: string[] = [];
  for (const entry of readdirSync(join(top, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (unnamed.has(path)) continue;
    if (entry.isDirectory()) found.push(...namesIn(top, path));
    else if (entry.isFile() && entry.name !== "index") {
      found.push(...objectNames(readSmallFile(join(top, path), largestNamed) ?? ""));
    }
  }
  return [...new Set(found)];
}

const isObjectName = (text: string) => /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/.test(text);

function objectNames(text: string): string[] {
  const words = text.match(/\b(?:[0-9a-f]{64}|[0-9a-f]{40})\b/g) ?? [];
  return words.filter((word) => !/^0+$/.test(word));
}

/** Does not follow a link, which would lead to somebody else's directory. */
export function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Moves a directory. If it is interrupted, whichever of the two names exists is complete. */
export function moveAdmin(from: string, to: string): void {
  const moved = `${from}.moved`;
  rmSync(moved, { recursive: true, force: true });
  // Left by a move to another disk that a crash interrupted after the copy was complete.
  if (!existsSync(to)) {
    try {
      return renameSync(from, to);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error;
    }
    const part = `${to}.part`;
    rmSync(part, { recursive: true, force: true });
    cpSync(from, part, { recursive: true, verbatimSymlinks: true });
    renameSync(part, to);
  }
  renameSync(from, moved);
  rmSync(moved, { recursive: true, force: true });
}

/** On the same disk. If a leftover process has made the directory again, its files are kept beside it. */
function moveTree(from: string, parked: string): void {
  let to = join(parked, "tree");
  for (let count = 2; existsSync(to); count++) to = join(parked, `tree-${count}`);
  renameSync(from, to);
}
