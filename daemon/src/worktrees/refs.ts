// Names of the refs that keep what sessions need and no branch contains. They lie below refs/hawser/, so
// that they are not listed as branches.
import type { Git } from "../git/git.ts";

const gitMs = 20_000;

export function refsOf(sessionId: string) {
  return {
    /** HEAD of a parked worktree. */
    parked: `refs/hawser/parked/${sessionId}`,
    /** The session's own branch at that time; HEAD may have been elsewhere. */
    parkedBranch: `refs/hawser/parked-branches/${sessionId}`,
    /** The objects that its index, its reflog and its merges name. */
    parkedParts: `refs/hawser/parked-parts/${sessionId}`,
    /** Snapshots of the worktree before turns. */
    snapshots: `refs/hawser/snapshots/${sessionId}`,
    /** Snapshots of the worktree before reverts. */
    reverted: `refs/hawser/reverted/${sessionId}`,
    revertedParts: `refs/hawser/reverted-parts/${sessionId}`,
  };
}

/** Removes the refs with these names and those below them. */
export async function dropRefs(
  git: Git,
  repository: string,
  names: readonly string[],
): Promise<void> {
  const found = await git.runIn(repository, "for-each-ref", {
    options: ["--format=delete %(refname)"],
    operands: names,
    deadlineMs: gitMs,
  });
  if (found === "") return;
  await git.runIn(repository, "update-ref", {
    options: ["--stdin"],
    input: found,
    deadlineMs: gitMs,
  });
}
