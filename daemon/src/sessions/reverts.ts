// Taking a session back to before one of its messages: the conversation by the agent's own means, files
// and HEAD from the snapshot that was taken before the message. What is there now is kept first.
import { CommandRefusal } from "../command-refusal.ts";
import { GitError } from "../git/git.ts";
import { attach } from "./attach.ts";
import { driverOf, mayWork, note, type Core } from "./core.ts";
import { capabilitiesIn, inOrder, nextNumber, ownTreeOf } from "./file-work.ts";
import { asRefusal } from "./refusals.ts";

/** Throws refusals. */
export async function revertSession(
  core: Core,
  sessionId: string,
  messageId: string,
  signal: AbortSignal,
): Promise<void> {
  check(core, sessionId, messageId);
  const live = core.live(sessionId);
  const work = inOrder(core, sessionId, () => revert(core, sessionId, messageId, signal));
  const over = work.catch(() => {});
  live.reverting = over;
  try {
    await work;
  } catch (error) {
    if (error instanceof GitError) throw new CommandRefusal("revert_failed", error.message);
    throw asRefusal(error);
  } finally {
    if (live.reverting === over) live.reverting = undefined;
  }
}

/** Everything that speaks against it. */
function check(core: Core, sessionId: string, messageId: string) {
  const { driven, messages } = core.journal;
  const session = driven.get(sessionId);
  if (!session || !mayWork(session)) {
    throw new CommandRefusal("session_ended", "The session has ended. Start another.");
  }
  const tree = ownTreeOf(session);
  if (!tree || !capabilitiesIn(driverOf(core, session.kind), session).includes("revert")) {
    const message =
      "This session's agent cannot go back, or it works in a directory of the user's.";
    throw new CommandRefusal("capability_missing", message);
  }
  if (driven.prompts(sessionId).length > 0) {
    throw new CommandRefusal("turn_running", "A turn runs. Stop it, or wait until it is over.");
  }
  if (session.shells?.length) {
    const message = "A shell command runs. Wait for its end, or stop it with abort_session.";
    throw new CommandRefusal("turn_running", message);
  }
  const all = messages.list(sessionId);
  const from = all.findIndex((message) => message.messageId === messageId);
  const target = all[from];
  if (!target) {
    throw new CommandRefusal("not_found", "The session has no message of a user with this id.");
  }
  if (!target.snapshot) {
    const message = "What the worktree held before this message could not be kept at that time.";
    throw new CommandRefusal("no_snapshot", message);
  }
  return { tree, snapshot: target.snapshot, later: all.slice(from) };
}

async function revert(
  core: Core,
  sessionId: string,
  messageId: string,
  signal: AbortSignal,
): Promise<void> {
  check(core, sessionId, messageId);
  const agent = await attach(core, sessionId);
  // Again, because taking it up may have taken a while.
  const { tree, snapshot, later } = check(core, sessionId, messageId);
  await core.worktrees.revert(sessionId, tree, snapshot, nextNumber(core, sessionId), async () => {
    // A prompt that failed before the agent had it is not there to go back to; the next one is.
    for (const message of later) {
      if ((await agent.revert!(message.messageId, signal)) === "reverted") return;
    }
  });
  core.live(sessionId).snapshot = snapshot;
  core.journal.atOnce(() => {
    core.journal.messages.dropFrom(sessionId, messageId);
    note(core, sessionId, { sessionUpdate: "session_reverted", messageId });
  });
  core.log.info("a session was reverted", { sessionId });
}
