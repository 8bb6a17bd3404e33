// The names under which a repository keeps what its sessions need and no branch holds. All of them lie
// below refs/hawser/, so that nobody takes them for branches.
import type { Git } from "../git/git.ts";

const gitMs = 20_000;

export function refsOf(sessionId: string) {
  return {
    /** HEAD of a worktree that was put aside. */
    parked: `refs/hawser/parked/${sessionId}`,
    /** The session's own branch then; HEAD may have been elsewhere. */
    parkedBranch: `refs/hawser/parked-branches/${sessionId}`,
    /** What its index, its reflog and its merges name. */
    parkedParts: `refs/hawser/parked-parts/${sessionId}`,
    /** What the worktree held before a turn. */
    snapshots: `refs/hawser/snapshots/${sessionId}`,
    /** What it held before somebody reverted it. */
    reverted: `refs/hawser/reverted/${sessionId}`,
    revertedParts: `refs/hawser/reverted-parts/${sessionId}`,
  };
}

/** Removes refs with these names, and those below them. */
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
