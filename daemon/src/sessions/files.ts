// The files of a session's own tree: where they are, and the work on them, which runs in order:
// snapshots before and after turns, and reverts. A prompt waits for work that began before it.
import { dirname, join } from "node:path";
import type { Capability } from "@hawser/contract";
import { capabilitiesOf, type Driver } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { objectToGitOf } from "../worktrees/own-git.ts";
import type { OwnTree, Snapshot } from "../worktrees/snapshots.ts";
import type { Author, Parking } from "../worktrees/worktrees.ts";
import type { Session } from "./session.ts";

type Placed = Pick<DrivenSession, "directory" | "worktree" | "checkout">;

/** The directory that is moved when the tree is parked: the worktree, or the one around the clone. */
export const placeToPark = ({ directory, checkout }: Placed): string =>
  checkout ? dirname(checkout.directory) : directory;

/** Returns undefined for a session that works in a user's directory. */
export function ownTreeOf(session: Placed): OwnTree | undefined {
  const { directory, worktree, checkout } = session;
  if (checkout) {
    const adminDirectory = join(directory, ".git");
    return { directory, repository: directory, adminDirectory, branch: null };
  }
  if (!worktree || worktree.adminDirectory === null) return undefined;
  const { repository, branch, adminDirectory } = worktree;
  return { directory, repository, branch, adminDirectory };
}

/** Says what is wrong with the git directory of the session's own tree, undefined if it is fine. */
export function objectToGit(session: Placed): string | undefined {
  const tree = ownTreeOf(session);
  return tree && objectToGitOf(tree);
}

/** What a session can do: what its kind can, except for what its directory does not allow. */
export function capabilitiesIn(
  driver: Driver,
  session: Placed & Pick<DrivenSession, "baseCommit" | "baselineTree">,
): Capability[] {
  return capabilitiesOf(driver).filter((capability) => {
    if (capability === "revert") return ownTreeOf(session) !== undefined;
    // A clone of an empty repository has nothing to compare with, and a large plain directory neither.
    return capability !== "diff" || baseOf(session) !== null || session.baselineTree !== undefined;
  });
}

/** The commit at which the session started; null outside of git. */
export const baseOf = ({ worktree, baseCommit }: Pick<DrivenSession, "worktree" | "baseCommit">) =>
  worktree?.baseCommit ?? baseCommit ?? null;

/** Commits in the directory get this author. No-op without one. */
export async function setAuthor(
  session: Session,
  directory: string,
  author: Author | null | undefined,
  signal: AbortSignal,
): Promise<void> {
  const { worktrees, log } = session.host;
  if (!author || (await worktrees.setAuthor(directory, author, signal))) return;
  const message = "commits are made in the name of the host's user, because the repository is bare";
  log.warn(message, { sessionId: session.id });
}

/** What is written down about a session when its tree is parked. */
export function parkingOf(record: DrivenSession, now: number): Parking {
  const { kind, title, directory, model, options, policy, worktree } = record;
  const { origin, pushBranch, checkout } = record;
  return {
    directory: placeToPark(record),
    now,
    session: {
      kind,
      title,
      startedIn: record.startedIn ?? worktree?.repository ?? directory,
      model,
      options,
      policy,
      baseCommit: baseOf(record),
      ...(origin !== undefined && { origin }),
      ...(pushBranch !== undefined && { pushBranch }),
      ...(checkout && { checkout }),
    },
  };
}

/** Runs the work on the files after all earlier work on them. */
export function inOrder<Result>(session: Session, work: () => Promise<Result>): Promise<Result> {
  const result = session.files.last.then(work);
  session.files.last = result.catch(() => {});
  return result;
}

/** Returns null if no snapshot was possible: the turn goes on, and no revert leads back to here. */
export function takeSnapshot(session: Session): Promise<Snapshot | null> {
  return inOrder(session, async () => {
    const tree = treeToKeep(session);
    return tree ? ((await snapshotOf(session, tree)) ?? null) : null;
  });
}

/** Takes a snapshot while nobody waits for it, so that the next one only checks for changes. */
export function snapshotAhead(session: Session): Promise<void> {
  return inOrder(session, async () => {
    const tree = treeToKeep(session);
    const startedAt = Date.now();
    if (!tree || !(await snapshotOf(session, tree))) return;
    const { worktrees } = session.host;
    try {
      session.files.stillness = await worktrees.stillness(session.id, tree, startedAt);
    } catch (error) {
      session.warn("the files of a worktree are not watched for changes", error);
    }
  });
}

function treeToKeep(session: Session): OwnTree | undefined {
  return session.host.closed.aborted || !session.isUsable ? undefined : ownTreeOf(session.record!);
}

async function snapshotOf(session: Session, tree: OwnTree): Promise<Snapshot | undefined> {
  const { files, host } = session;
  if (files.snapshot && files.stillness?.holds()) return files.snapshot;
  files.stillness = undefined;
  const kept = host.journal.messages.list(session.id).findLast(({ snapshot }) => snapshot);
  const last = files.snapshot ?? kept?.snapshot ?? null;
  try {
    const number = () => nextNumber(session);
    files.snapshot = await host.worktrees.snapshot(session.id, tree, number, last);
    return files.snapshot;
  } catch (error) {
    session.warn("no snapshot was taken", error);
    return undefined;
  }
}

/** Numbers of snapshots are never reused, so no snapshot is overwritten. */
export function nextNumber(session: Session): number {
  const snapshotCount = (session.record!.snapshotCount ?? 0) + 1;
  session.change({ snapshotCount });
  return snapshotCount;
}
