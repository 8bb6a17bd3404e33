// Taking a session back to before one of its messages: the conversation by the agent's own means, files
// and HEAD from the snapshot that was taken before the message. The current files are kept first.
import { CommandRefusal } from "../command-refusal.ts";
import { GitError } from "../git/git.ts";
import { attach } from "./attach.ts";
import { noteForgotten } from "./conversations.ts";
import { capabilitiesIn, inOrder, nextNumber, ownTreeOf } from "./files.ts";
import { asRefusal } from "./refusals.ts";
import type { Session } from "./session.ts";

/** Throws refusals. */
export async function revertSession(
  session: Session,
  messageId: string,
  signal: AbortSignal,
): Promise<void> {
  check(session, messageId);
  const reverting = inOrder(session, () => revert(session, messageId, signal));
  const work = { type: "revert", done: reverting.catch(() => {}) } as const;
  session.work = work;
  try {
    await reverting;
  } catch (error) {
    if (error instanceof GitError) throw new CommandRefusal("revert_failed", error.message);
    throw asRefusal(error);
  } finally {
    if (session.work === work) session.work = { type: "none" };
  }
}

/** Throws the refusal if the session cannot go back to before this message. */
function check(session: Session, messageId: string) {
  const { record } = session;
  const tree = record && ownTreeOf(record);
  const isCapable = () => tree && capabilitiesIn(session.driver, record).includes("revert");
  // Before the table: a session that can never revert says so also while a turn runs.
  if (session.isUsable && !isCapable()) {
    const message =
      "The session's agent cannot revert, or the session works in a directory of the user.";
    throw new CommandRefusal("capability_missing", message);
  }
  session.require("revert");
  const all = session.host.journal.messages.list(session.id);
  const from = all.findIndex((message) => message.messageId === messageId);
  const target = all[from];
  if (!target) {
    throw new CommandRefusal("not_found", "The session has no user message with this id.");
  }
  if (!target.snapshot) {
    const message = "There is no snapshot of the files from before this message.";
    throw new CommandRefusal("no_snapshot", message);
  }
  return { tree: tree!, snapshot: target.snapshot, later: all.slice(from) };
}

async function revert(session: Session, messageId: string, signal: AbortSignal): Promise<void> {
  const { worktrees, journal, log } = session.host;
  check(session, messageId);
  const agent = await attach(session);
  // Again, because attaching may have taken a while.
  const { tree, snapshot, later } = check(session, messageId);
  await worktrees.revert(session.id, tree, snapshot, nextNumber(session), async () => {
    // Before the agent forgets them, because what follows may fail.
    noteForgotten(
      session,
      later.map((message) => message.messageId),
    );
    // The agent never got a prompt whose delivery failed; the next one leads back as far.
    for (const message of later) {
      if ((await agent.revert!(message.messageId, signal)) === "reverted") return;
    }
  });
  session.files.snapshot = snapshot;
  session.commit(() => {
    journal.messages.dropFrom(session.id, messageId);
    session.note({ sessionUpdate: "session_reverted", messageId });
  });
  log.info("a session was reverted", { sessionId: session.id });
}
