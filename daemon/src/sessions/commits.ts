// What of a session's work is committed, pushed or neither.
import { CommandRefusal } from "../command-refusal.ts";
import { GitError } from "../git/git.ts";
import { baseOf, objectToGit } from "./files.ts";
import type { Session } from "./session.ts";

export interface SessionGit {
  /** The branch that a push goes to; null until one is named. */
  branch: string | null;
  base: { branch: string | null; commit: string; behind: number | null } | null;
  commits: number;
  unpushedCommits: number;
  uncommittedFiles: number;
}

/** Throws refusals. */
export async function readSessionGit(session: Session, signal: AbortSignal): Promise<SessionGit> {
  const record = session.require("read");
  const { directory, origin, worktree, pushBranch, pushedCommit = null } = record;
  if (origin === undefined) {
    const message = "The session does not work in a git repository.";
    throw new CommandRefusal("not_a_repository", message);
  }
  const objection = objectToGit(record);
  if (objection !== undefined) throw new CommandRefusal("unsafe_repository", objection);
  const baseCommit = baseOf(record);
  const baseBranch = worktree?.baseBranch ?? null;
  const wanted = { directory, baseCommit, baseBranch, pushedCommit, signal };
  try {
    const { behind, ...counts } = await session.host.worktrees.readCommitState(wanted);
    return {
      branch: worktree?.branch ?? pushBranch ?? null,
      base: baseCommit === null ? null : { branch: baseBranch, commit: baseCommit, behind },
      ...counts,
    };
  } catch (error) {
    if (error instanceof GitError) throw new CommandRefusal("git_failed", error.message);
    throw error;
  }
}
