// One thread of codex: what its app-server tells of it, as events for the session it serves, and what is
// asked of it. The turn that runs is in running-turn.ts, what codex waits for in open-requests.ts.
import type { AgentPolicy } from "@hawser/contract";
import { within } from "../../pause.ts";
import { AgentNotReady, type AgentEvent, type RequestAnswer, type Sink } from "../driver.ts";
import type { AppServer } from "./app-server.ts";
import { catchUp } from "./catch-up.ts";
import { CallLate, type RequestId } from "./connection.ts";
import { mostCondensed, readCursor, unused } from "./cursor.ts";
import { openItems } from "./open-items.ts";
import { openRequests } from "./open-requests.ts";
import {
  passedOver,
  type Item,
  type Notifications,
  type TokenCount,
  type Turn,
} from "./protocol.ts";
import { openRunningTurn } from "./running-turn.ts";
import { openSubAgents } from "./sub-agents.ts";
import { countOf, usedBetween, usedIn } from "./tokens.ts";

export interface ThreadPlace {
  threadId: string;
  directory: string;
  policy: AgentPolicy;
  cursor: string | null;
  /** A turn in which nothing happens for so long has failed. */
  silenceMs: number;
}

export interface Thread {
  isLoaded(): boolean;
  /** Whether a turn runs, or something is left to be heard. */
  isWorking(): boolean;
  /** Whether a thread is this one, or one of its sub-agents'. */
  owns(threadId: string): boolean;
  /** What nobody has heard yet, then everything new. */
  listen(sink: Sink): void;
  silence(): void;
  hear(method: string, params: Record<string, unknown>): void;
  ask(id: RequestId, method: string, params: Record<string, unknown>): void;
  /** Tells what an earlier process did after the cursor, and that its turn is over. */
  catchUp(last: Turn | undefined, hadTurn: boolean): void;
  /** Begins a turn by a call of codex, for a message of ours. */
  begin(messageId: string, call: () => Promise<BegunBy>): Promise<void>;
  /** The turn that condensed the history for a message, if one did. */
  condensedBy(messageId: string): string | undefined;
  abort(): Promise<void>;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
  /** Its history now ends with this turn, or is empty. */
  wentBackTo(turnId: string | null): void;
  lose(reason: string): void;
}

/** What codex answers to a call that begins a turn; of some it tells the turn only as it starts. */
interface BegunBy {
  turn?: { id: string };
}

const beginMs = 20_000;

export function openThread(server: AppServer, place: ThreadPlace): Thread {
  const { threadId, directory, policy, silenceMs } = place;
  const cursor = readCursor(place.cursor);
  let sink: Sink | undefined;
  let unheard: AgentEvent[] = [];
  let isHeld = false;
  /** A prompt on its way to codex. */
  let giving: Promise<unknown> = Promise.resolve();
  let isLoaded = true;
  let isLost = false;

  const tell = (event: AgentEvent) => {
    if (event.type === "text") {
      if (sink && !isHeld) sink(event);
      return;
    }
    const marked = { ...event, cursor: JSON.stringify(cursor) };
    if (sink && !isHeld) sink(marked);
    else unheard.push(marked);
  };

  const flush = () => {
    if (!sink || isHeld) return;
    const events = [...unheard, ...items.writing()];
    unheard = [];
    for (const event of events) sink(event);
  };

  const items = openItems(directory, cursor, tell);
  const subAgents = openSubAgents();
  const requests = openRequests({ server, directory, policy, items, tell });
  const turn = openRunningTurn({
    server,
    threadId,
    silenceMs,
    subAgents,
    hasCommand: () => items.hasCommand(),
    isWaiting: () => requests.isWaiting(),
    onEnd({ outcome, reason }) {
      items.close(outcome);
      requests.forget();
      cursor.isOver = true;
      tell({ type: "turn_ended", outcome, reason });
    },
  });

  const beginTurn = (id: string) => {
    isLoaded = true;
    if (!turn.begin(id).isNew) return;
    Object.assign(cursor, { turn: id, isOver: false, told: [], open: [] });
    tell({ type: "cursor_moved" });
  };

  const beginBy = async (messageId: string, call: () => Promise<BegunBy>) => {
    const begun = turn.begun();
    const { turn: taken } = await call();
    if (taken) return beginTurn(taken.id);
    const isThere = await within(beginMs, Promise.race([begun, server.ended]));
    if (!isThere) throw new CallLate(`Codex began no turn within ${beginMs} ms.`);
    if (server.hasEnded()) throw new Error("Its process ended.");
    const own: [string, string] = [messageId, await begun];
    cursor.condensed = [...cursor.condensed, own].slice(-mostCondensed);
    tell({ type: "cursor_moved" });
  };

  const countTokens = (total: TokenCount, last: TokenCount, from: string) => {
    const known = from === threadId ? cursor : subAgents.get(from);
    if (!known) return;
    // Before it condenses, and when nothing runs, codex only tells the count again.
    const isAgain = !turn.isRunning() || items.isCondensing();
    const { used } = known;
    const usage = used ? usedBetween(used, total) : isAgain ? undefined : usedIn(last);
    known.used = countOf(total);
    if (usage) tell({ type: "usage", usage, costUsd: null, costIsEstimate: false });
  };

  const parentOf = (from: string) => subAgents.get(from)?.call ?? null;

  const hearItem = (step: "started" | "completed", item: Item, from: string) => {
    subAgents.noticeIn(item);
    items[step](item, from, parentOf(from));
    if (step === "completed" && !items.hasCommand()) turn.commandEnded();
  };

  const heard: { [Name in keyof Notifications]: (p: Notifications[Name], from: string) => void } = {
    "turn/started": ({ turn: { id } }, from) => {
      const agent = subAgents.get(from);
      if (agent) Object.assign(agent, { isRunning: true, turnId: id });
      else {
        beginTurn(id);
        turn.started();
      }
    },
    "turn/completed": ({ turn: over }, from) => {
      const agent = subAgents.get(from);
      if (!agent) return turn.finished(over);
      agent.isRunning = false;
      items.close(over.status === "completed" ? "completed" : "failed", from);
      turn.subAgentEnded();
    },
    "item/started": ({ item }, from) => hearItem("started", item, from),
    "item/completed": ({ item }, from) => hearItem("completed", item, from),
    "item/agentMessage/delta": ({ itemId, delta }) => items.more(itemId, delta),
    "item/plan/delta": ({ itemId, delta }) => items.more(itemId, delta),
    "item/reasoning/summaryPartAdded": ({ itemId, summaryIndex }) => {
      if (summaryIndex > 0) items.more(itemId, "\n\n");
    },
    "item/reasoning/summaryTextDelta": ({ itemId, delta }) => items.more(itemId, delta),
    "item/commandExecution/outputDelta": ({ itemId, delta }) => items.printed(itemId, delta),
    "turn/plan/updated": ({ plan }) => {
      const entries = plan.map(({ step, status }) => ({
        content: step,
        priority: "medium" as const,
        status:
          status === "inProgress"
            ? ("in_progress" as const)
            : status === "completed"
              ? ("completed" as const)
              : ("pending" as const),
      }));
      tell({ type: "update", update: { sessionUpdate: "plan", entries } });
    },
    "thread/tokenUsage/updated": ({ tokenUsage: { total, last } }, from) =>
      countTokens(total, last, from),
    // Titles are ours; codex tells back the one we gave.
    "thread/name/updated": () => {},
    "thread/closed": (_, from) => {
      if (from === threadId) isLoaded = false;
    },
    "serverRequest/resolved": ({ requestId }) => requests.resolved(requestId, turn.isStopped()),
    error: ({ error, willRetry }, from) => {
      if (!willRetry) return;
      // What was half said is said again.
      items.close("retry", from);
      turn.retrying(error);
    },
  };

  return {
    isLoaded: () => isLoaded,
    isWorking: () => turn.isRunning() || unheard.length > 0,
    owns: (id) => id === threadId || subAgents.get(id) !== undefined,
    listen(next) {
      sink = next;
      flush();
    },
    silence() {
      sink = undefined;
    },

    hear(method, params) {
      if (isLost) return;
      // Another try to reach the model is no sign of life.
      if (/^(item|turn)\//.test(method)) turn.heard();
      const from = typeof params["threadId"] === "string" ? params["threadId"] : threadId;
      if (Object.hasOwn(heard, method)) {
        const take = heard[method as keyof Notifications] as (p: unknown, from: string) => void;
        return take(params, from);
      }
      if (passedOver.has(method)) return;
      tell({ type: "update", update: { sessionUpdate: "unknown", raw: { method, params } } });
    },

    ask(id, method, params) {
      turn.heard();
      requests.ask(id, method, params, parentOf(String(params["threadId"])));
    },

    catchUp: (last, hadTurn) => catchUp(last, hadTurn, { threadId, cursor, items, tell }),

    async begin(messageId, call) {
      if (isLost) throw new AgentNotReady("The session was lost. Resume it.");
      // Nothing is told before the caller knows that the prompt was taken.
      isHeld = true;
      const given = beginBy(messageId, call);
      giving = given.catch(() => {});
      try {
        await given;
      } catch (error) {
        // Nobody can say whether the turn runs.
        if (error instanceof CallLate) await server.stop();
        throw new AgentNotReady(`Codex did not take the prompt: ${(error as Error).message}`, {
          cause: error,
        });
      } finally {
        setImmediate(() => {
          isHeld = false;
          flush();
        });
      }
    },

    async abort() {
      // Codex would take the next prompt as part of a turn that nobody knows of.
      await giving;
      if (!turn.isRunning()) return;
      requests.stop();
      await turn.abort();
    },

    answer: (key, answer) => requests.answer(key, answer),

    condensedBy: (messageId) => cursor.condensed.find(([asked]) => asked === messageId)?.[1],

    wentBackTo(turnId) {
      const used = turnId === null ? unused : null;
      Object.assign(cursor, { turn: turnId, isOver: true, told: [], open: [], used });
      tell({ type: "cursor_moved" });
    },

    lose(reason) {
      if (isLost) return;
      isHeld = false;
      flush();
      items.close("interrupted");
      isLost = true;
      turn.lose();
      cursor.isOver = true;
      requests.forget();
      tell({ type: "lost", reason });
      sink = undefined;
    },
  };
}
