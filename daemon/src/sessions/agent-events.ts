// What an agent's event causes. An event's effects and the cursor behind it are one commit, so no event
// is recorded twice and none is lost, whatever is killed.
import type { Usage } from "@hawser/contract";
import type { AgentEvent, Sink } from "../drivers/driver.ts";
import { raiseRequest, settleByAgent } from "./requests.ts";
import type { AgentListener, Session } from "./session.ts";
import { finishTurn, loseAgent } from "./turn-end.ts";

export interface ListenerOptions {
  /** Events are held back until begin(). */
  isHeld: boolean;
  /** An event could not be recorded. The listener is closed; the agent repeats the event when resumed. */
  onStuck: (error: unknown) => void;
}

/** `sink` is for the driver: it records the agent's events in their order. */
export function createListener(
  session: Session,
  { isHeld, onStuck }: ListenerOptions,
): { listener: AgentListener; sink: Sink } {
  let held: AgentEvent[] | undefined = isHeld ? [] : undefined;
  let isClosed = false;
  const sink = (event: AgentEvent) => {
    if (isClosed || session.host.closed.aborted) return;
    if (held) {
      held.push(event);
      return;
    }
    // No event follows `lost`, whatever happens while it is recorded.
    if (event.type === "lost") isClosed = true;
    try {
      receive(session, event);
    } catch (error) {
      isClosed = true;
      onStuck(error);
    }
  };
  const listener = {
    begin() {
      const waiting = held ?? [];
      held = undefined;
      for (const event of waiting) sink(event);
    },
    close() {
      isClosed = true;
    },
    isClosed: () => isClosed,
  };
  return { listener, sink };
}

function receive(session: Session, event: AgentEvent): void {
  if (event.type === "text") {
    session.host.lane.text(session.id, session.turnId, event);
    return;
  }
  session.commit(() => {
    if (!session.record) return;
    if (event.cursor !== undefined) session.change({ cursor: event.cursor });
    record(session, event);
  });
}

/** Within a commit. */
function record(session: Session, event: Exclude<AgentEvent, { type: "text" }>): void {
  const { turnId } = session;
  switch (event.type) {
    case "usage":
      return addUsage(session, turnId, event);
    case "title": {
      const { title } = event;
      const known = session.record!;
      if (known.isTitledByCaller || title === known.title) return;
      session.change({ title });
      return session.note({ sessionUpdate: "session_info_update", title });
    }
    case "compacted":
      return session.note({ sessionUpdate: "session_compacted" }, turnId);
    case "update": {
      const { update } = event;
      session.note(update, turnId);
      if (!("messageId" in update)) return;
      return session.afterwards(() => session.host.lane.finish(session.id, update.messageId));
    }
    case "request":
      return raiseRequest(session, turnId, event);
    case "request_gone":
      return settleByAgent(session, turnId, event);
    case "turn_ended":
      return finishTurn(session, event);
    case "lost":
      return loseAgent(session, event.reason);
    case "cursor_moved":
      return;
  }
}

function addUsage(
  session: Session,
  turnId: string | null,
  { usage: more, context, ...cost }: Extract<AgentEvent, { type: "usage" }>,
): void {
  countUsage(session, { usage: more, ...cost });
  const { usage, costUsd, costIsEstimate } = session.record!;
  session.note(
    {
      sessionUpdate: "usage_update",
      usage: usage!,
      costUsd,
      costIsEstimate,
      ...(context && { context }),
    },
    turnId,
  );
}

type Used = Omit<Extract<AgentEvent, { type: "usage" }>, "type" | "cursor" | "context">;

/** Adds to the session's totals. */
export function countUsage(session: Session, { usage: more, ...cost }: Used): void {
  const known = session.record!;
  const usage = addUp(known.usage, more);
  const costUsd = cost.costUsd === null ? known.costUsd : (known.costUsd ?? 0) + cost.costUsd;
  const costIsEstimate = known.costIsEstimate || cost.costIsEstimate;
  session.change({ usage, costUsd, costIsEstimate });
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
