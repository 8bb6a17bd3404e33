// What of a session's work is committed, pushed or neither, in numbers. Nothing is fetched: what git knows of the
// origin is what it heard last.
import { GitError, type Git } from "../git/git.ts";

export interface WantedState {
  /** The top of the working tree. */
  directory: string;
  /** The commit at which the session began; null if there was none. */
  baseCommit: string | null;
  /** The branch of the user's repository at which it began; null if it is not known. */
  baseBranch: string | null;
  /** The commit that was pushed last; null if none was. */
  pushedCommit: string | null;
  signal: AbortSignal;
}

export interface CommitState {
  /** Since the base. */
  commits: number;
  /** Those of them that no remote has. */
  unpushedCommits: number;
  uncommittedFiles: number;
  /** Commits on the base branch since the session's branch left it; null if that branch is not known. */
  behind: number | null;
}

const quickMs = 20_000;
const largestStatus = 128 * 1024 * 1024;
/** An agent can make any number of them. */
const mostCommits = 10_000;

/** Throws GitError. */
export async function readCommitState(git: Git, wanted: WantedState): Promise<CommitState> {
  const { directory, baseCommit, baseBranch, pushedCommit, signal } = wanted;
  const within = { deadlineMs: quickMs, signal };
  const uncommittedFiles = await countChanges(git, directory, signal);
  if ((await headOf(git, directory, signal)) === null)
    return { commits: 0, unpushedCommits: 0, uncommittedFiles, behind: null };
  const count = async (revisions: string[], ...options: string[]) => {
    const most = `--max-count=${mostCommits}`;
    const call = { ...within, options: ["--count", most, ...options], revisions };
    return Number(await git.runIn(directory, "rev-list", call));
  };
  const own = ["HEAD", ...(baseCommit === null ? [] : [`^${baseCommit}`])];
  const commits = await count(own);
  // The pushed commit may be gone since. What the agent pushed itself is known from the remote's branches.
  const pushed = pushedCommit === null ? [] : [`^${pushedCommit}`];
  const unpushedCommits =
    commits === 0
      ? 0
      : await count([...own, ...pushed], "--ignore-missing", "--not", "--remotes", "--not");
  const behind =
    baseBranch === null
      ? null
      : await count([`refs/heads/${baseBranch}`, "^HEAD"]).catch(nullIfFailed);
  return { commits, unpushedCommits, uncommittedFiles, behind };
}

/** Files with changes that are in no commit, untracked ones among them. Throws GitError. */
export async function countChanges(
  git: Git,
  directory: string,
  signal: AbortSignal,
): Promise<number> {
  const listed = await git.runIn(directory, "status", {
    options: ["--porcelain", "-z", "--untracked-files=all", "--no-renames"],
    deadlineMs: quickMs,
    outputLimitBytes: largestStatus,
    signal,
  });
  return listed.split("\0").length - 1;
}

/** The commit of HEAD; null if there is no repository, or no commit in it. */
export async function headOf(
  git: Git,
  directory: string,
  signal: AbortSignal,
): Promise<string | null> {
  const verify = { options: ["--verify", "--quiet"], revisions: ["HEAD^{commit}"] };
  const found = await git
    .runIn(directory, "rev-parse", { ...verify, deadlineMs: quickMs, signal })
    .catch(nullIfFailed);
  return found?.trim() ?? null;
}

/** The branch that is checked out; null if none is. */
export async function branchOf(
  git: Git,
  directory: string,
  signal: AbortSignal,
): Promise<string | null> {
  const call = { options: ["--quiet"], operands: ["HEAD"], deadlineMs: quickMs, signal };
  const found = await git.runIn(directory, "symbolic-ref", call).catch(nullIfFailed);
  return /^refs\/heads\/(.+)$/.exec(found?.trim() ?? "")?.[1] ?? null;
}

function nullIfFailed(error: unknown): null {
  if (error instanceof GitError && error.reason === "failed") return null;
  throw error;
}
