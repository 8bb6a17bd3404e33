// Putting a session's own tree aside. A worktree's directory and what git keeps about it are moved out
// of the repository, and refs hold every object that they name, so that no garbage collection there
// takes one. The branch goes. A clone is moved as it is, and nobody looks into it. Each step can be
// taken again after a crash, and nothing is copied but git's own few files when they lie on another
// disk, so that it takes no longer for a large tree.
//
// An agent has worked in that directory and may have written anything into it. So nothing there says
// what is moved: that was written down before the agent began.
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readSmallFile } from "../directories/handle.ts";
import { GitError, type Git } from "../git/git.ts";
import { replaceFile } from "../state/replace-file.ts";
import { readParked, recordName, type ParkedRecord, type ParkedSession } from "./parked-record.ts";
import { refsOf } from "./refs.ts";

interface Parking {
  sessionId: string;
  /** Where its tree lies. */
  worktree: string;
  /** The directory that holds `tree`, `admin` and `parked.json` afterwards. */
  parked: string;
  /** Null for a clone, which has no repository beside itself. */
  kept: KeptWorktree | null;
  /** What a session that is made of it is to know. */
  session: ParkedSession | null;
  now: number;
}

const gitMs = 10_000;
const largestNamed = 4 * 1024 * 1024;

/** What is known of a worktree that is to be put aside. */
export interface KeptWorktree {
  repository: string;
  branch: string;
  /** Null when it was never made. */
  adminDirectory: string | null;
}

export async function parkTree(git: Git, parking: Parking): Promise<void> {
  const { sessionId, worktree, parked, kept, session, now } = parking;
  const { repository = null, branch = null, adminDirectory = null } = kept ?? {};
  const refs = refsOf(sessionId);
  const isThere = isDirectory(worktree);
  // A user may have removed the repository; then only files are left to keep.
  const isRepositoryThere = repository !== null && existsSync(repository);
  const hasFiles = isThere || (adminDirectory !== null && isDirectory(adminDirectory));
  // Of a try that a crash or a full disk cut, or of one that was about to be put back.
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
  // Gone already, or another one of that name, which is the user's.
  if ((await commitOf(git, repository, `refs/heads/${branch}`)) !== keptTip) return;
  // Refuses when somebody has it checked out elsewhere: that is the user's own then.
  await git.runIn(repository, "branch", {
    options: ["--delete", "--force", "--quiet"],
    operands: [branch],
    deadlineMs: gitMs,
  });
}

/** Names a commit whose tree and parents are everything that git's own files for the tree name. */
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

/** Where the worktree's HEAD is; nothing on a branch without commits. */
async function tipOf(
  git: Git,
  repository: string,
  adminDirectory: string,
): Promise<string | undefined> {
  return (await readHead(git, repository, adminDirectory)).commit ?? undefined;
}

export interface Head {
  commit: string | null;
  /** The whole name of the ref that HEAD follows; null when it follows none. */
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

/** The ref that HEAD follows. */
export const followedBy = (adminDirectory: string) => followedIn(textOfHead(adminDirectory));

const textOfHead = (adminDirectory: string) =>
  readSmallFile(join(adminDirectory, "HEAD"), 4096)?.trim() ?? "";

const followedIn = (head: string) => /^ref: (refs\/\S+)$/.exec(head)?.[1] ?? null;

/** Nothing when there is none; that it could not be looked up is an error, or it would be taken for none. */
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

/** Blobs that the index holds and the tip does not, every stage of a conflict among them. */
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

/** What lies in a clone's git directory and names nothing of the session's own, or far too much. */
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

/** Every object that git's own files for the tree name: reflogs, merges, rebases, refs of its own. */
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

/** Not through a link: that would be somebody else's directory. */
export function isDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** Whatever moment it is cut at, what has either name is whole. */
export function moveAdmin(from: string, to: string): void {
  const moved = `${from}.moved`;
  rmSync(moved, { recursive: true, force: true });
  // Of a move to another disk that a crash cut after the copy was whole.
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

/** On the same disk. What a process left behind may have made anew in its place is kept beside it. */
function moveTree(from: string, parked: string): void {
  let to = join(parked, "tree");
  for (let count = 2; existsSync(to); count++) to = join(parked, `tree-${count}`);
  renameSync(from, to);
}
