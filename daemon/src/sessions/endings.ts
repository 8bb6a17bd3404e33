// Ending a session: its turn is stopped, the agent's own session and its processes are ended, and its
// worktree or clone is parked. If something cannot be done, the session stays in `ending` until it can;
// the next daemon goes on with it.
import { CommandRefusal } from "../command-refusal.ts";
import { describe } from "../log.ts";
import { within } from "../pause.ts";
import { attach, release } from "./attach.ts";
import { undoStart } from "./begin.ts";
import { parkingOf } from "./files.ts";
import { withdrawRequests } from "./requests.ts";
import type { Session } from "./session.ts";
import { stopStart } from "./start-work.ts";
import { abortTurn } from "./turns.ts";

const agentMs = 5_000;

/** Throws a refusal if something could not be cleaned up. Callers that come meanwhile share it. */
export function endSession(session: Session): Promise<void> {
  session.ending ??= end(session).finally(() => {
    session.ending = undefined;
    session.forget();
  });
  return session.ending;
}

async function end(session: Session): Promise<void> {
  const { journal, lane, log, reap } = session.host;
  const { driven } = journal;
  if (driven.hasEnded(session.id)) return;
  const { record } = session;
  // A start that arrives later finds that the session has ended.
  if (!record) return driven.markEnded(session.id);
  // No prompt is accepted from here on.
  session.change({ state: "ending" });
  if (record.state === "starting") {
    await stopStart(session);
    await undoStart(session, record);
    await park(session, false);
    return driven.markEnded(session.id);
  }
  await abortTurn(session, "The session was ended.");
  await endAgent(session);
  await reap();
  await park(session, true);
  session.commit(() => {
    withdrawRequests(session, "The session was ended.");
    session.note({ sessionUpdate: "session_status", status: "ended", reason: null });
    driven.markEnded(session.id);
  });
  lane.clear(session.id);
  log.info("a session was ended", { sessionId: session.id });
  void reap();
}

/** An agent that cannot be reached is left alone: what matters is that nothing runs in the directory. */
async function endAgent(session: Session): Promise<void> {
  try {
    const ended = attach(session).then((agent) => agent.end(AbortSignal.timeout(agentMs)));
    if (!(await within(agentMs, ended))) throw new Error("The agent did not answer in time.");
  } catch (error) {
    session.warn("an agent's session was not ended", error);
  }
  release(session);
}

async function park(session: Session, isNoted: boolean): Promise<void> {
  const { worktrees, now } = session.host;
  await session.files.last;
  const record = session.record;
  if (!record || (!record.worktree && !record.checkout)) return;
  try {
    await worktrees.park(session.id, record.worktree, parkingOf(record, now()));
  } catch (error) {
    const what = record.checkout ? "clone" : "worktree";
    const reason = `The session's ${what} could not be parked: ${describe(error)}`;
    if (isNoted) {
      const code = "cleanup_failed";
      session.note({ sessionUpdate: "session_status", status: code, reason, code });
    }
    throw new CommandRefusal("cleanup_failed", reason);
  }
}
