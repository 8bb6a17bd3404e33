// What an agent's event causes. All of it, with the cursor behind the event, is one commit: whoever is
// killed, no event is recorded twice and none is lost.
import type { TurnOutcome, Usage } from "@hawser/contract";
import type { AgentEvent } from "../drivers/driver.ts";
import type { DrivenSession } from "../journal/driven-sessions.ts";
import { describe } from "../log.ts";
import { note, runningTurn, setStatus, type Core } from "./core.ts";
import { snapshotAhead } from "./file-work.ts";
import { raiseRequest, settleByAgent, settleGiven, withdrawRequests } from "./requests.ts";

/** The ear of one attachment to an agent. */
export interface Listening {
  tell: (event: AgentEvent) => void;
  /** Events were held back until the session is written down; now they count. */
  begin(): void;
  /** Hears nothing more. */
  close(): void;
  isOver(): boolean;
}

export interface ListeningOptions {
  /** Nothing is recorded before begin(). */
  isHeld: boolean;
  /** An event could not be recorded. The ear is closed, and what it missed is told again later. */
  onStuck: (error: unknown) => void;
}

export function openListening(
  core: Core,
  sessionId: string,
  { isHeld, onStuck }: ListeningOptions,
): Listening {
  let held: AgentEvent[] | undefined = isHeld ? [] : undefined;
  let isOver = false;
  const tell = (event: AgentEvent) => {
    if (isOver || core.closed.aborted) return;
    if (held) {
      held.push(event);
      return;
    }
    // Nothing comes after it, whatever happens while it is recorded.
    if (event.type === "lost") isOver = true;
    try {
      recordEvent(core, sessionId, event);
    } catch (error) {
      isOver = true;
      onStuck(error);
    }
  };
  return {
    tell,
    begin() {
      const waiting = held ?? [];
      held = undefined;
      for (const event of waiting) tell(event);
    },
    close() {
      isOver = true;
    },
    isOver: () => isOver,
  };
}

function recordEvent(core: Core, sessionId: string, event: AgentEvent): void {
  if (event.type === "text") {
    const turn = runningTurn(core, sessionId);
    core.lane.text(sessionId, turn?.turnId ?? null, event);
    return;
  }
  const after: (() => void)[] = [];
  core.journal.atOnce(() => {
    const session = core.journal.driven.get(sessionId);
    if (!session) return;
    if (event.cursor !== undefined) {
      core.journal.driven.change(sessionId, { cursor: event.cursor });
    }
    after.push(...cause(core, session, event));
  });
  for (const each of after) each();
}

type Recorded = Exclude<AgentEvent, { type: "text" }>;

/** Writes what the event causes, and gives what is to be done once that is on disk. */
function cause(core: Core, session: DrivenSession, event: Recorded): (() => void)[] {
  const { sessionId } = session;
  const turnId = runningTurn(core, sessionId)?.turnId ?? null;
  switch (event.type) {
    case "update": {
      const { update } = event;
      note(core, sessionId, update, turnId);
      if (!("messageId" in update)) return [];
      return [() => core.lane.finish(sessionId, update.messageId)];
    }
    case "request":
      return raiseRequest(core, sessionId, turnId, event);
    case "request_gone":
      settleByAgent(core, sessionId, turnId, event);
      return [];
    case "usage":
      addUsage(core, session, turnId, event);
      return [];
    case "title":
      if (session.isTitledByCaller || event.title === session.title) return [];
      core.journal.driven.change(sessionId, { title: event.title });
      note(core, sessionId, { sessionUpdate: "session_info_update", title: event.title });
      return [];
    case "compacted":
      note(core, sessionId, { sessionUpdate: "session_compacted" }, turnId);
      return [];
    case "turn_ended":
      return finishTurn(core, sessionId, event.outcome, event.reason);
    case "lost":
      return lose(core, sessionId, event.reason);
    case "cursor_moved":
      break;
  }
  return [];
}

/** Nothing happens when no turn runs. */
export function finishTurn(
  core: Core,
  sessionId: string,
  outcome: TurnOutcome,
  reason: string | null,
): (() => void)[] {
  const turn = runningTurn(core, sessionId);
  if (!turn) return [];
  const { turnId } = turn;
  const live = core.live(sessionId);
  // Whatever the agent calls the end of a turn that somebody stopped.
  const isStopped = live.aborting === turnId && outcome !== "completed";
  if (outcome === "completed") settleGiven(core, sessionId, turnId);
  withdrawRequests(core, sessionId, "The turn has ended.");
  const told = isStopped ? ("aborted" as const) : outcome;
  if (told === "completed" && turn.task?.type === "summarize") {
    note(core, sessionId, { sessionUpdate: "session_compacted" }, turnId);
  }
  note(core, sessionId, { sessionUpdate: "turn_finished", outcome: told, reason }, turnId);
  core.journal.driven.removePrompt(turnId);
  return [
    () => {
      core.lane.clear(sessionId);
      if (live.aborting === turnId) live.aborting = undefined;
      for (const waiter of live.waiters) waiter();
      // Now, while nobody waits for it; before the next turn there is little left to read.
      void snapshotAhead(core, sessionId);
      core.wake(sessionId);
    },
  ];
}

/** The agent is gone, and with it the turn and what it waited for. */
function lose(core: Core, sessionId: string, reason: string): (() => void)[] {
  const session = core.journal.driven.get(sessionId);
  const live = core.live(sessionId);
  const after = finishTurn(core, sessionId, "interrupted", reason);
  withdrawRequests(core, sessionId, reason);
  const isRestarting = session !== undefined && core.restarting.has(session.kind);
  setStatus(core, sessionId, isRestarting ? "detached" : "error", reason);
  const { listening } = live;
  return [
    () => {
      listening?.close();
      // Another may have taken its place while this was written.
      if (live.listening === listening) {
        live.agent = undefined;
        live.listening = undefined;
      }
      core.lane.clear(sessionId);
      core.log.warn("a session's agent is lost", { sessionId, reason });
      core.wake(sessionId);
    },
    ...after,
  ];
}

/** For whoever is not within an event. */
export function loseNow(core: Core, sessionId: string, error: unknown): void {
  if (core.closed.aborted) return;
  const after = core.journal.atOnce(() => lose(core, sessionId, describe(error)));
  for (const each of after) each();
}

function addUsage(
  core: Core,
  session: DrivenSession,
  turnId: string | null,
  { usage: more, ...cost }: Extract<AgentEvent, { type: "usage" }>,
): void {
  const usage = addUp(session.usage, more);
  const costUsd = cost.costUsd === null ? session.costUsd : (session.costUsd ?? 0) + cost.costUsd;
  const costIsEstimate = session.costIsEstimate || cost.costIsEstimate;
  core.journal.driven.change(session.sessionId, { usage, costUsd, costIsEstimate });
  note(
    core,
    session.sessionId,
    { sessionUpdate: "usage_update", usage, costUsd, costIsEstimate },
    turnId,
  );
}

function addUp(one: Usage | null, other: Usage): Usage {
  if (!one) return other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  };
}
