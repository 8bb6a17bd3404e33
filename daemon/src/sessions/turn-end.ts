// How a turn ends: the agent reports it, or the agent is lost. Both are called within a commit.
import type { TurnEnd } from "../drivers/driver.ts";
import { noteForgotten } from "./conversations.ts";
import { snapshotAhead } from "./files.ts";
import { settleGiven, withdrawRequests } from "./requests.ts";
import type { Session } from "./session.ts";

/** No-op if no turn runs. */
export function finishTurn(session: Session, { outcome, reason, cause }: TurnEnd): void {
  const running = session.runningTurn;
  if (!running) return;
  const { turnId, task } = running;
  const work = session.work.type === "turn" ? session.work.turn : undefined;
  const turn = work?.turnId === turnId ? work : undefined;
  if (outcome === "completed") settleGiven(session, turnId);
  withdrawRequests(session, "The turn has ended.");
  // A turn that was stopped counts as aborted, whatever its agent calls that.
  const recorded = turn?.isStopped && outcome !== "completed" ? "aborted" : outcome;
  if (recorded === "completed" && task?.type === "summarize") {
    session.note({ sessionUpdate: "session_compacted" }, turnId);
  }
  const why = recorded === "failed" && cause !== undefined ? { cause } : {};
  session.note({ sessionUpdate: "turn_finished", outcome: recorded, reason, ...why }, turnId);
  session.host.journal.driven.removePrompt(turnId);
  // The agent's own transcript may lack a turn that did not complete.
  if (outcome !== "completed") noteForgotten(session, [running.messageId]);
  session.afterwards(() => {
    session.host.lane.clear(session.id);
    turn?.ended.resolve();
    if (session.work.type === "turn" && session.work.turn === turn) session.work = { type: "none" };
    // While nobody waits for it. Before the next turn there is little left to read.
    void snapshotAhead(session);
    session.wake();
  });
}

/** The agent is gone, and with it the running turn and the requests. */
export function loseAgent(session: Session, reason: string): void {
  const { serving } = session;
  session.afterwards(() => {
    if (serving.by === "attached") {
      serving.listener.close();
      // Another agent may serve the session by now.
      if (session.serving === serving) session.serving = { by: "none" };
    }
    session.host.lane.clear(session.id);
    session.host.log.warn("a session's agent is lost", { sessionId: session.id, reason });
    session.wake();
  });
  finishTurn(session, { outcome: "interrupted", reason });
  withdrawRequests(session, reason);
  const driver = session.knownDriver;
  const isRestarting = driver !== undefined && session.host.restarting.has(driver);
  if (isRestarting) session.setStatus("detached", "agent_restarted", reason);
  else session.setStatus("error", "agent_lost", reason);
}
