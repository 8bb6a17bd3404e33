// The worktrees of sessions. They lie below the daemon's own directory, on a branch of their own, without
// files that an agent would run unasked. When a session ends, its worktree or clone is parked, with
// everything that git knows about it, so that it can be restored. Snapshots and diffs work the same for
// both. A user's own directory is never changed.
import { existsSync, mkdirSync, realpathSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findRepository } from "../git/find-repository.ts";
import { GitError, type Git } from "../git/git.ts";
import { makeBranchName } from "../git/branch-name.ts";
import { realOf } from "../real-path.ts";
import { createBaselines, type Baselines } from "./baselines.ts";
import {
  branchOf,
  headOf,
  readCommitState,
  type CommitState,
  type WantedState,
} from "./commits.ts";
import { createTrustedFiles, type TrustedFiles } from "./trusted-files.ts";
import { createDiffs, type Diffs } from "./diffs.ts";
import { fillTree, readTreeState, type ForkSource, type TreeState } from "./fork-tree.ts";
import { createParked, type Parked } from "./parked.ts";
import { readParked, type ParkedSession } from "./parked-record.ts";
import { dropRefs, refsOf } from "./refs.ts";
import { createStillness, type Stillness } from "./stillness.ts";
import { goBack, keepPresent, takeSnapshot, type OwnTree, type Snapshot } from "./snapshots.ts";
import { listLeftOut } from "./left-out.ts";
import { adminDirectoryOf, objectToGitOf } from "./own-git.ts";
import { parkTree, type KeptWorktree } from "./park.ts";
import { shortId } from "./short-id.ts";

export interface WorktreesOptions {
  git: Git;
  /** Contains each worktree, named by its session's id. */
  directory: string;
  /** Contains the parked trees of ended sessions. */
  parkedDirectory: string;
  /** Contains the baselines of sessions in directories without a commit. */
  baselinesDirectory: string;
  /** Contains the copies of trusted configuration. */
  trustedDirectory: string;
  /** Absolute paths of the user's keys and logins: no baseline and no diff contains them. */
  closedPaths?: readonly string[];
  /** For temporary files; emptied at the start. */
  scratchDirectory: string;
}

/** The author of commits. */
export interface Author {
  name: string;
  email: string;
}

export interface WorktreePlan {
  sessionId: string;
  /** The top of the user's repository. */
  repository: string;
  branch: string;
  /** Where the worktree will be made. */
  directory: string;
}

export interface MadeWorktree {
  /** The commit at which the branch began. */
  baseCommit: string;
  /** The branch that the repository had checked out; null for a fork, or if none was. */
  baseBranch: string | null;
  /** Files that were left out, relative to the top of the repository. */
  leftOut: string[];
  /** Git's directory for the worktree. Read before an agent could have changed it. */
  adminDirectory: string;
}

export interface Worktrees {
  /** Decides all names before anything is made, so that they can be recorded first. */
  plan(wanted: { sessionId: string; repository: string; title: string | null }): WorktreePlan;
  /**
   * `without`: patterns of files to leave out. `state`: what the worktree contains, if not the repository's
   * HEAD. Throws GitError.
   */
  make(
    plan: WorktreePlan,
    without: readonly string[],
    signal: AbortSignal,
    state?: TreeState,
  ): Promise<MadeWorktree>;
  /** The state of another session's tree, for a fork with this id. Throws GitError. */
  readState(sessionId: string, source: ForkSource, signal: AbortSignal): Promise<TreeState>;
  /** Removes a finished or unfinished worktree that no agent has worked in. */
  discard(plan: WorktreePlan): Promise<void>;
  /**
   * Sets the author of commits in this checkout of a session's own, and in no other checkout. Returns
   * false, with nothing changed, if that would need a setting that breaks the user's other worktrees.
   */
  setAuthor(directory: string, author: Author, signal: AbortSignal): Promise<boolean>;
  /** Parks a session's tree; `kept` is null for a clone. No-op if it is parked or never existed. */
  park(sessionId: string, kept: KeptWorktree | null, about?: Parking): Promise<void>;
  /**
   * Undoes a restore, finished or not, in whose tree nobody has worked. Returns false if there is no
   * record of it: then the tree stays where it is.
   */
  unrestore(sessionId: string): Promise<boolean>;
  /** The commit of HEAD; null if there is no repository, or no commit in it. */
  headOf(directory: string, signal: AbortSignal): Promise<string | null>;
  /** Throws GitError. */
  readCommitState(wanted: WantedState): Promise<CommitState>;
  /** Lists, restores and drops parked trees. */
  parked: Parked;
  /** Makes a snapshot; returns the last one if nothing has changed. Only a new one gets a number. */
  snapshot(
    sessionId: string,
    tree: OwnTree,
    number: () => number,
    last: Snapshot | null,
  ): Promise<Snapshot>;
  /** Detects changes since the snapshot that began at that time. */
  stillness(sessionId: string, tree: OwnTree, begunAt: number): Promise<Stillness | undefined>;
  /**
   * Goes back to a snapshot. First makes a snapshot of the present state, then calls `before`; if that
   * throws, nothing has changed.
   */
  revert(
    sessionId: string,
    tree: OwnTree,
    target: Snapshot,
    number: number,
    before: () => Promise<void>,
  ): Promise<void>;
  diffs: Diffs;
  baselines: Baselines;
  trustedFiles: TrustedFiles;
  /** The worktree, in use or parked, that contains this path; undefined if none does. The path has no links. */
  placeOf(realPath: string): { directory: string; isParked: boolean } | undefined;
}

/** What is known of a session whose tree is to be parked. */
export interface Parking {
  session: ParkedSession | null;
  /** Where its tree is, if not where its session's id says. */
  directory: string;
  /** In milliseconds, by the control plane's clock. */
  now: number;
}

const makeMs = 25_000;
const quickMs = 10_000;
/**
 * Gives worktrees settings of their own. If the shared settings say that the repository is bare, git
 * then treats all of its worktrees as bare, the user's too.
 */
const ownSettings = "extensions.worktreeConfig";
/** The first git that leaves files out of a worktree without breaking the others in that way. */
const safeSparseVersion = [2, 36] as const;

export function createWorktrees(options: WorktreesOptions): Worktrees {
  const { git, directory, parkedDirectory, baselinesDirectory, scratchDirectory } = options;
  const { trustedDirectory } = options;
  const closedPaths = (options.closedPaths ?? []).map(realOf);
  rmSync(scratchDirectory, { recursive: true, force: true });
  const own = [directory, parkedDirectory, baselinesDirectory, trustedDirectory, scratchDirectory];
  for (const path of own) mkdirSync(path, { recursive: true, mode: 0o700 });
  const places = [
    { top: realpathSync(directory), isParked: false },
    { top: realpathSync(parkedDirectory), isParked: true },
  ];
  const directoryFor = (sessionId: string) => join(places[0]!.top, checked(sessionId));
  const indexOf = (sessionId: string) => join(scratchDirectory, `${checked(sessionId)}.index`);
  const working = new Map<string, Promise<unknown>>();

  /**
   * Runs work in the same repository one at a time: git does not wait for another git that writes its
   * settings, and fails on a worktree that is half made.
   */
  function inTurn<Result>(repository: string, work: () => Promise<Result>): Promise<Result> {
    const common = findRepository(repository)?.common ?? repository;
    const result = (working.get(common) ?? Promise.resolve()).then(work);
    const settled = result
      .catch(() => {})
      .finally(() => {
        if (working.get(common) === settled) working.delete(common);
      });
    working.set(common, settled);
    return result;
  }

  const putAside = (parking: Parameters<typeof parkTree>[1]) =>
    parking.kept
      ? inTurn(parking.kept.repository, () => parkTree(git, parking))
      : parkTree(git, parking);

  /** Only this worktree: others whose directory cannot be seen now are the user's. */
  async function forget(repository: string, worktree: string): Promise<void> {
    try {
      await git.runIn(repository, "worktree remove", {
        // Includes a worktree that git was still making.
        options: ["--force", "--force"],
        operands: [worktree],
        deadlineMs: quickMs,
      });
    } catch (error) {
      if (!(error instanceof GitError) || !/is not a working tree/.test(error.message)) throw error;
    }
  }

  /** In the settings that all worktrees of a repository share. */
  async function isSet(place: string, setting: string, signal: AbortSignal): Promise<boolean> {
    try {
      const call = { options: ["--local", "--type=bool"], operands: [setting] };
      const found = await git.runIn(place, "config", { ...call, deadlineMs: quickMs, signal });
      return found.startsWith("true");
    } catch (error) {
      if (error instanceof GitError && error.exitCode === 1) return false;
      throw error;
    }
  }

  return {
    plan: ({ sessionId, repository, title }) => ({
      sessionId,
      repository,
      branch: makeBranchName(title ?? "", shortId(checked(sessionId))),
      directory: directoryFor(sessionId),
    }),

    async make(plan, without, signal, state) {
      const { repository, branch } = plan;
      const within = { deadlineMs: makeMs, signal };
      const start = state?.head.commit ?? "HEAD";
      const verify = { options: ["--verify", "--quiet"], revisions: [`${start}^{commit}`] };
      const baseCommit = await git
        .runIn(repository, "rev-parse", { ...within, ...verify })
        .catch((error: unknown) => {
          if (!(error instanceof GitError) || error.reason !== "failed") throw error;
          const message = `The repository ${repository} has no commit to begin at. Make one first.`;
          throw new GitError("failed", message);
        });
      const commit = baseCommit.trim();
      const baseBranch = state ? null : await branchOf(git, repository, signal);
      const add = {
        ...within,
        options: ["--no-checkout", "--quiet", `-b${branch}`],
        operands: [plan.directory, commit],
      };
      await inTurn(repository, () => git.runIn(repository, "worktree add", add));
      const adminDirectory = adminDirectoryOf(plan.directory);
      if (without.length > 0) {
        const version = await git.version();
        const breaksOthers = version !== undefined && version.compare(safeSparseVersion) < 0;
        if (breaksOthers && (await isSet(plan.directory, "core.bare", signal))) {
          const message = `Git ${version.text} would make the other worktrees of ${repository} unusable. Install 2.36 or newer.`;
          throw new GitError("git_outdated", message);
        }
        const leave = { ...within, operands: without };
        await inTurn(repository, () => git.runIn(plan.directory, "sparse-checkout set", leave));
      }
      if (state) {
        const tree = { directory: plan.directory, repository, adminDirectory, branch };
        const filled = { ...state, head: { ...state.head, commit } };
        await fillTree(git, tree, filled, { indexFile: indexOf(plan.sessionId), ...within });
      } else {
        await git.runIn(plan.directory, "checkout", { ...within, options: ["--quiet"] });
      }
      const leftOut = without.length > 0 ? await listLeftOut(git, plan.directory, signal) : [];
      return { baseCommit: commit, baseBranch, leftOut, adminDirectory };
    },

    readState: (sessionId, source, signal) =>
      readTreeState(git, source, { indexFile: indexOf(sessionId), deadlineMs: makeMs, signal }),

    async discard(plan) {
      const { repository, branch } = plan;
      rmSync(plan.directory, { recursive: true, force: true });
      // The user may have removed the repository in the meantime.
      if (!existsSync(repository)) return;
      await inTurn(repository, async () => {
        await forget(repository, plan.directory);
        await git.runIn(repository, "update-ref", {
          deadlineMs: quickMs,
          options: ["-d"],
          operands: [`refs/heads/${branch}`],
        });
      });
    },

    setAuthor: (place, { name, email }, signal) =>
      inTurn(place, async () => {
        const within = { deadlineMs: quickMs, signal };
        if (!(await isSet(place, ownSettings, signal))) {
          if (await isSet(place, "core.bare", signal)) return false;
          await git.runIn(place, "config --local", { ...within, operands: [ownSettings, "true"] });
        }
        for (const operands of [
          ["user.name", name],
          ["user.email", email],
        ]) {
          await git.runIn(place, "config --worktree", { ...within, operands });
        }
        return true;
      }),

    async park(sessionId, kept, about) {
      await putAside({
        sessionId,
        kept,
        worktree: about?.directory ?? directoryFor(sessionId),
        parked: join(places[1]!.top, checked(sessionId)),
        session: about?.session ?? null,
        now: about?.now ?? Date.now(),
      });
      rmSync(indexOf(sessionId), { force: true });
      if (kept && existsSync(kept.repository)) {
        await dropRefs(git, kept.repository, [refsOf(sessionId).snapshots]);
      }
    },

    async unrestore(sessionId) {
      const parked = join(places[1]!.top, checked(sessionId));
      const record = readParked(parked);
      if (!record) return false;
      const { repository, branch, adminDirectory } = record;
      const isWorktree = repository !== null && branch !== null;
      // A tree that is still parked was not restored: there is nothing to undo.
      const isBack = !existsSync(join(parked, "tree"));
      await putAside({
        sessionId,
        kept: isWorktree ? { repository, branch, adminDirectory } : null,
        worktree: isBack ? record.worktree : join(parked, "none"),
        parked,
        session: record.session,
        now: record.parkedAt,
      });
      return true;
    },

    headOf: (place, signal) => headOf(git, place, signal),
    readCommitState: (wanted) => readCommitState(git, wanted),

    parked: createParked(git, places[1]!.top),

    async snapshot(sessionId, tree, number, last) {
      checkTree(tree);
      const ref = () => `${refsOf(sessionId).snapshots}/${number()}`;
      return takeSnapshot({ git, tree, indexFile: indexOf(sessionId) }, ref, last);
    },

    stillness: (sessionId, tree, begunAt) =>
      createStillness(git, tree, indexOf(sessionId), begunAt),

    async revert(sessionId, tree, target, number, before) {
      checkTree(tree);
      const wanted = { git, tree, indexFile: indexOf(sessionId) };
      const refs = refsOf(sessionId);
      if (existsSync(join(tree.adminDirectory, "index.lock"))) {
        const message = `Git is at work in ${tree.directory}, or left index.lock behind. Try again, or remove that file.`;
        throw new GitError("failed", message);
      }
      await keepPresent(wanted, target, {
        snapshot: `${refs.reverted}/${number}`,
        parts: `${refs.revertedParts}/${number}`,
      });
      await before();
      await goBack(wanted, target);
    },

    diffs: createDiffs(git, scratchDirectory, closedPaths),

    baselines: createBaselines(git, realpathSync(baselinesDirectory), closedPaths),

    trustedFiles: createTrustedFiles(git, realpathSync(trustedDirectory)),

    placeOf(realPath) {
      for (const { top, isParked } of places) {
        if (!realPath.startsWith(`${top}/`)) continue;
        const name = realPath.slice(top.length + 1).split("/")[0]!;
        return { directory: join(top, name), isParked };
      }
      return undefined;
    },
  };
}

/** Throws GitError. */
function checkTree(tree: OwnTree): void {
  const objection = objectToGitOf(tree);
  if (objection !== undefined) throw new GitError("unsafe_repository", objection);
}

/** Throws if the id cannot be the name of a directory. */
function checked(sessionId: string): string {
  if (/^\w{6,64}$/.test(sessionId)) return sessionId;
  throw new Error(`"${sessionId}" is no session's id.`);
}
