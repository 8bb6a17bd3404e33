// Pushing what a session has committed: from where it works, to the origin it began with, on a branch
// that is its own and stays the same whatever the session is called later.
import { CommandRefusal } from "../command-refusal.ts";
import { makeBranchName } from "../git/branch-name.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import type { Pushed } from "../worktrees/push.ts";
import { shortId } from "../worktrees/short-id.ts";
import { mayWork, type Core } from "./core.ts";
import { objectToGit } from "./file-work.ts";

export interface AskedPush {
  sessionId: string;
  pullRequest: { title: string; body: string } | null;
}

/** Throws refusals. */
export async function pushSession(
  core: Core,
  { sessionId, pullRequest }: AskedPush,
  signal: AbortSignal,
): Promise<Pushed> {
  const session = core.journal.driven.get(sessionId);
  if (!session || session.state === "ending") {
    throw new CommandRefusal("session_ended", "The host has no such session any more.");
  }
  if (!mayWork(session)) {
    throw new CommandRefusal("push_failed", "The session has not begun yet. Try again.");
  }
  const { directory, origin, checkout } = session;
  if (origin === undefined) {
    const message = "The session does not work in a git repository, so there is nothing to push.";
    throw new CommandRefusal("not_a_repository", message);
  }
  if (origin === null) {
    const message =
      "The repository had no remote called origin when the session began. Add one, and start another session.";
    throw new CommandRefusal("push_failed", message);
  }
  const objection = objectToGit(session);
  if (objection !== undefined) throw new CommandRefusal("unsafe_repository", objection);
  const branch = branchOf(core, session);
  const viaClient = checkout?.viaClient ?? false;
  return core.pushes.push({ directory, origin, branch, viaClient, pullRequest }, signal);
}

function branchOf(core: Core, session: DrivenSession): string {
  const { sessionId, worktree, pushBranch, title } = session;
  const known = worktree?.branch ?? pushBranch;
  if (known !== undefined) return known;
  const made = makeBranchName(title ?? "", shortId(sessionId));
  core.journal.driven.change(sessionId, { pushBranch: made });
  return made;
}
