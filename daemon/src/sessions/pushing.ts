// Pushing what a session has committed, to the origin that the repository had when the session started.
// The branch belongs to the session and keeps its name, whatever the session is called later.
import { CommandRefusal } from "../command-refusal.ts";
import { makeBranchName } from "../git/branch-name.ts";
import type { Pushed } from "../worktrees/push.ts";
import { shortId } from "../worktrees/short-id.ts";
import { objectToGit } from "./files.ts";
import type { Session } from "./session.ts";
import { notYours, type Person } from "./strangers.ts";

export interface WantedPush {
  sessionId: string;
  pullRequest: { title: string; body: string } | null;
  ownerId?: Person;
}

const othersLogin =
  "On this host a person's session pushes with the logins of that person's Unix user, so only that person, whom accountOf names, can push it.";

/** Throws refusals. */
export async function pushSession(
  session: Session,
  { pullRequest, ownerId }: WantedPush,
  signal: AbortSignal,
): Promise<Omit<Pushed, "commit">> {
  const record = session.require("push");
  // Elsewhere all sessions push with the logins of the host's user.
  if (session.host.clonesRepositories && record.ownerId !== ownerId) throw notYours(othersLogin);
  const { directory, origin, checkout } = record;
  if (origin === undefined) {
    const message = "The session does not work in a git repository, so there is nothing to push.";
    throw new CommandRefusal("not_a_repository", message);
  }
  if (origin === null) {
    const message =
      "The repository had no remote called origin when the session started. Add one, and start another session.";
    throw new CommandRefusal("push_failed", message);
  }
  const objection = objectToGit(record);
  if (objection !== undefined) throw new CommandRefusal("unsafe_repository", objection);
  const branch = record.worktree?.branch ?? record.pushBranch ?? nameBranch(session, record.title);
  const viaClient = checkout?.viaClient ?? false;
  const wish = { directory, origin, branch, viaClient, pullRequest };
  const { commit, ...pushed } = await session.host.pushes.push(wish, signal);
  // The session may have ended meanwhile.
  if (session.record) session.change({ pushedCommit: commit });
  return pushed;
}

function nameBranch(session: Session, title: string | null): string {
  const pushBranch = makeBranchName(title ?? "", shortId(session.id));
  session.change({ pushBranch });
  return pushBranch;
}
