// What is done with the files of a session's own tree, one thing after the other: snapshots before
// and after its turns, and going back to one. A prompt waits for what was begun before it.
import { dirname, join } from "node:path";
import type { Capability } from "@hawser/contract";
import { capabilitiesOf, type Driver } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { objectToGitOf } from "../worktrees/own-git.ts";
import type { OwnTree, Snapshot } from "../worktrees/snapshots.ts";
import type { Author, Parking } from "../worktrees/worktrees.ts";
import { mayWork, type Core } from "./core.ts";

type Placed = Pick<DrivenSession, "directory" | "worktree" | "checkout">;

/** What is moved when it is put aside: the worktree, or the directory around its clone. */
export const placeToPark = ({ directory, checkout }: Placed): string =>
  checkout ? dirname(checkout.directory) : directory;

/** Nothing for one that works in a user's directory. */
export function ownTreeOf(session: Placed): OwnTree | undefined {
  const { directory, worktree, checkout } = session;
  if (checkout) {
    return {
      directory,
      repository: directory,
      adminDirectory: join(directory, ".git"),
      branch: null,
    };
  }
  if (!worktree || worktree.adminDirectory === null) return undefined;
  const { repository, branch, adminDirectory } = worktree;
  return { directory, repository, branch, adminDirectory };
}

/** Says what is wrong with the git directory of its own tree, if anything is. */
export function objectToGit(session: Placed): string | undefined {
  const tree = ownTreeOf(session);
  return tree && objectToGitOf(tree);
}

/** What a session can do: what its kind can, but for what its place does not allow. */
export function capabilitiesIn(
  driver: Driver,
  session: Placed & Pick<DrivenSession, "baseCommit">,
): Capability[] {
  return capabilitiesOf(driver).filter((capability) => {
    if (capability === "revert") return ownTreeOf(session) !== undefined;
    // Without a commit there is nothing to compare with, as in the clone of an empty repository.
    return capability !== "diff" || baseOf(session) !== null;
  });
}

/** The commit it began at. */
export const baseOf = ({ worktree, baseCommit }: Pick<DrivenSession, "worktree" | "baseCommit">) =>
  worktree?.baseCommit ?? baseCommit ?? null;

export async function setAuthor(
  core: Core,
  { sessionId, directory }: Pick<DrivenSession, "sessionId" | "directory">,
  author: Author | null | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (!author || (await core.worktrees.setAuthor(directory, author, signal))) return;
  const message = "commits are made in the name of the host's user, because the repository is bare";
  core.log.warn(message, { sessionId });
}

/** What is written down when its tree is put aside. */
export function parkingOf(core: Core, session: DrivenSession): Parking {
  const { kind, title, directory, model, options, policy, worktree } = session;
  const { origin, pushBranch, checkout } = session;
  return {
    directory: placeToPark(session),
    now: core.now(),
    session: {
      kind,
      title,
      startedIn: session.startedIn ?? worktree?.repository ?? directory,
      model,
      options,
      policy,
      baseCommit: baseOf(session),
      ...(origin !== undefined && { origin }),
      ...(pushBranch !== undefined && { pushBranch }),
      ...(checkout && { checkout }),
    },
  };
}

export function inOrder<Result>(
  core: Core,
  sessionId: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const live = core.live(sessionId);
  const result = (live.fileWork ?? Promise.resolve()).then(work);
  live.fileWork = result.catch(() => {});
  return result;
}

/** Null when there is none; the work goes on without it, and nobody can go back to here. */
export function takeSnapshot(core: Core, sessionId: string): Promise<Snapshot | null> {
  return inOrder(core, sessionId, async () => {
    const tree = treeToKeep(core, sessionId);
    return tree ? ((await snapshotOf(core, sessionId, tree)) ?? null) : null;
  });
}

/** For whoever comes next: the same, while nobody waits, and how to tell that it still holds. */
export function snapshotAhead(core: Core, sessionId: string): Promise<void> {
  return inOrder(core, sessionId, async () => {
    const tree = treeToKeep(core, sessionId);
    const begunAt = Date.now();
    if (!tree || !(await snapshotOf(core, sessionId, tree))) return;
    try {
      core.live(sessionId).stillness = await core.worktrees.stillness(sessionId, tree, begunAt);
    } catch (error) {
      core.log.warn("a worktree's files were not looked at", {
        sessionId,
        error: describe(error),
      });
    }
  });
}

function treeToKeep(core: Core, sessionId: string): OwnTree | undefined {
  const session = core.journal.driven.get(sessionId);
  return core.closed.aborted || !session || !mayWork(session) ? undefined : ownTreeOf(session);
}

async function snapshotOf(
  core: Core,
  sessionId: string,
  tree: OwnTree,
): Promise<Snapshot | undefined> {
  const live = core.live(sessionId);
  if (live.snapshot && live.stillness?.holds()) return live.snapshot;
  live.stillness = undefined;
  const last =
    live.snapshot ??
    core.journal.messages.list(sessionId).findLast((one) => one.snapshot)?.snapshot ??
    null;
  try {
    const number = () => nextNumber(core, sessionId);
    live.snapshot = await core.worktrees.snapshot(sessionId, tree, number, last);
    return live.snapshot;
  } catch (error) {
    core.log.warn("no snapshot was taken", { sessionId, error: describe(error) });
    return undefined;
  }
}

/** Of a snapshot; no number is given twice, so that none is ever overwritten. */
export function nextNumber(core: Core, sessionId: string): number {
  const { snapshotCount = 0 } = core.journal.driven.get(sessionId)!;
  core.journal.driven.change(sessionId, { snapshotCount: snapshotCount + 1 });
  return snapshotCount + 1;
}
