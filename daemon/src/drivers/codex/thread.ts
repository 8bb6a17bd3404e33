// One thread of codex: translates the app-server's notifications into the session's events, and starts,
// stops and reverts turns. The running turn is in running-turn.ts, open requests in open-requests.ts.
import { within } from "../../pause.ts";
import {
  AgentNotReady,
  type AgentEvent,
  type RequestAnswer,
  type SessionSettings,
  type Sink,
} from "../driver.ts";
import type { AppServer } from "./app-server.ts";
import { createCalls } from "./calls.ts";
import { catchUp } from "./catch-up.ts";
import { CallLate, type RequestId } from "./connection.ts";
import { maxCondensed, readCursor, unused } from "./cursor.ts";
import type { HookInput } from "./gate.ts";
import { createItems } from "./open-items.ts";
import { createRequests } from "./open-requests.ts";
import {
  ignoredNotifications,
  type Item,
  type Notifications,
  type ToolApproval,
  type Turn,
} from "./protocol.ts";
import { createRunningTurn } from "./running-turn.ts";
import { createSubAgents } from "./sub-agents.ts";
import { contextOf, countOf, usedBetween, usedIn } from "./tokens.ts";

export interface ThreadOptions {
  threadId: string;
  directory: string;
  decide: SessionSettings["decide"];
  cursor: string | null;
  /** After this time without any event, a turn has failed. */
  silenceMs: number;
  /** A call may run that was not decided about. */
  onGateFailure: (why: string) => void;
}

export interface Thread {
  isLoaded(): boolean;
  /** Whether a turn runs, or events are not reported yet. */
  isWorking(): boolean;
  /** Whether a thread id belongs to this thread or to one of its sub-agents. */
  owns(threadId: string): boolean;
  /** Reports the events that were not reported yet, then all further events. */
  reportTo(sink: Sink, decide: SessionSettings["decide"]): void;
  stopReporting(): void;
  onNotification(method: string, params: Record<string, unknown>): void;
  onRequest(id: RequestId, method: string, params: Record<string, unknown>): void;
  /** Reports what an earlier process did after the cursor, and the end of its turn. */
  catchUp(last: Turn | undefined, hadTurn: boolean): void;
  /** Decides about a tool call before it runs. Returns undefined if it may run. */
  onCall(input: HookInput, gone: AbortSignal): Promise<string | undefined>;
  /** Starts a turn for a message of ours, by a call of codex. */
  begin(message: Message, call: () => Promise<BegunBy>): Promise<void>;
  /** The turn that condensed the history for a message; undefined if there is none. */
  condensedBy(messageId: string): string | undefined;
  abort(): Promise<void>;
  answer(key: string, answer: RequestAnswer): Promise<"accepted" | "gone">;
  /** The history now ends with this turn; it is empty if null. */
  onReverted(turnId: string | null): void;
  lose(reason: string): void;
}

/** What a turn is started for. */
interface Message {
  messageId: string;
  isPlanning: boolean;
  /** Paths of the files that came with it. */
  attachments: readonly string[];
}

/** Codex's answer to a call that starts a turn. For some calls the turn's id follows later. */
interface BegunBy {
  turn?: { id: string };
}

const beginMs = 20_000;

/** Items that exist only after the hook has let their call run. */
const gated = new Set<Item["type"]>(["commandExecution", "fileChange", "mcpToolCall"]);

export function createThread(server: AppServer, options: ThreadOptions): Thread {
  const { threadId, directory, silenceMs, onGateFailure } = options;
  let { decide } = options;
  let place: Omit<Message, "messageId"> = { isPlanning: false, attachments: [] };
  const cursor = readCursor(options.cursor);
  let sink: Sink | undefined;
  let unreported: AgentEvent[] = [];
  /** Events are held back until the caller knows that the prompt was accepted. */
  let isHeld = false;
  /** Settles when the prompt in delivery has been delivered. */
  let delivering: Promise<unknown> = Promise.resolve();
  let isLoaded = true;
  let isLost = false;

  const report = (event: AgentEvent) => {
    if (event.type === "text") {
      if (sink && !isHeld) sink(event);
      return;
    }
    const marked = { ...event, cursor: JSON.stringify(cursor) };
    if (sink && !isHeld) sink(marked);
    else unreported.push(marked);
  };

  const flush = () => {
    if (!sink || isHeld) return;
    const events = [...unreported, ...items.openTexts()];
    unreported = [];
    for (const event of events) sink(event);
  };

  const items = createItems(directory, cursor, report);
  const subAgents = createSubAgents();
  const requests = createRequests({
    server,
    directory,
    decide: (call) => decide(call),
    items,
    report,
  });
  const turn = createRunningTurn({
    server,
    threadId,
    silenceMs,
    subAgents,
    hasCommand: () => items.hasCommand(),
    isWaiting: () => requests.isWaiting(),
    onEnd(end) {
      items.close(end.outcome);
      requests.drop();
      cursor.isOver = true;
      report({ type: "turn_ended", ...end });
    },
  });

  const beginTurn = (id: string) => {
    isLoaded = true;
    if (!turn.begin(id).isNew) return;
    Object.assign(cursor, { turn: id, isOver: false, told: [], open: [] });
    report({ type: "cursor_moved" });
  };

  const beginTurnBy = async (messageId: string, call: () => Promise<BegunBy>) => {
    const begun = turn.whenBegun();
    const { turn: accepted } = await call();
    if (accepted) return beginTurn(accepted.id);
    const hasBegun = await within(beginMs, Promise.race([begun, server.ended]));
    if (!hasBegun) throw new CallLate(`Codex started no turn within ${beginMs} ms.`);
    if (server.hasEnded()) throw new Error("Codex's process ended.");
    const own: [string, string] = [messageId, await begun];
    cursor.condensed = [...cursor.condensed, own].slice(-maxCondensed);
    report({ type: "cursor_moved" });
  };

  const countTokens = (
    { total, last, modelContextWindow }: Notifications["thread/tokenUsage/updated"]["tokenUsage"],
    from: string,
  ) => {
    const known = from === threadId ? cursor : subAgents.get(from);
    if (!known) return;
    // Codex repeats the count before it condenses, and while no turn runs.
    const isRepeated = !turn.isRunning() || items.isCondensing();
    const { used } = known;
    const usage = used ? usedBetween(used, total) : isRepeated ? undefined : usedIn(last);
    known.used = countOf(total);
    if (!usage) return;
    // A sub-agent has a context of its own.
    const context = from === threadId ? contextOf(last, modelContextWindow) : undefined;
    report({ type: "usage", usage, costUsd: null, costIsEstimate: false, ...context });
  };

  const parentOf = (from: string) => subAgents.get(from)?.call ?? null;

  const calls = createCalls({
    directory,
    decide: (call) => decide(call),
    items,
    requests,
    parentOf,
    place: () => place,
    isOpen: () => !isLost && turn.isRunning() && !turn.isStopped(),
  });

  const onItem = (step: "started" | "completed", item: Item, from: string) => {
    if (step === "started" && gated.has(item.type) && !calls.allowed(item.id)) {
      onGateFailure(`the hook did not see the call ${item.id}`);
    }
    subAgents.addFrom(item);
    items[step](item, from, parentOf(from));
    if (step === "completed" && !items.hasCommand()) turn.onCommandsEnded();
  };

  const handlers: {
    [Name in keyof Notifications]: (p: Notifications[Name], from: string) => void;
  } = {
    "turn/started": ({ turn: { id } }, from) => {
      const agent = subAgents.get(from);
      if (agent) Object.assign(agent, { isRunning: true, turnId: id });
      else {
        beginTurn(id);
        turn.onStarted();
      }
    },
    "turn/completed": ({ turn: over }, from) => {
      const agent = subAgents.get(from);
      if (!agent) return turn.onFinished(over);
      agent.isRunning = false;
      items.close(over.status === "completed" ? "completed" : "failed", from);
      turn.onSubAgentEnded();
    },
    "item/started": ({ item }, from) => onItem("started", item, from),
    "item/completed": ({ item }, from) => onItem("completed", item, from),
    "item/agentMessage/delta": ({ itemId, delta }) => items.appendText(itemId, delta),
    "item/plan/delta": ({ itemId, delta }) => items.appendText(itemId, delta),
    "item/reasoning/summaryPartAdded": ({ itemId, summaryIndex }) => {
      if (summaryIndex > 0) items.appendText(itemId, "\n\n");
    },
    "item/reasoning/summaryTextDelta": ({ itemId, delta }) => items.appendText(itemId, delta),
    "item/commandExecution/outputDelta": ({ itemId, delta }) => items.appendOutput(itemId, delta),
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
      report({ type: "update", update: { sessionUpdate: "plan", entries } });
    },
    "thread/tokenUsage/updated": ({ tokenUsage }, from) => countTokens(tokenUsage, from),
    // The title is the one that we set.
    "thread/name/updated": () => {},
    "thread/closed": (_, from) => {
      if (from === threadId) isLoaded = false;
    },
    "hook/started": ({ run }) => calls.onHookStarted(run),
    "hook/completed": ({ run }) => {
      if (run.eventName !== "preToolUse" || turn.isStopped()) return;
      if (!/^(completed|blocked|stopped)$/.test(run.status)) {
        onGateFailure(`the hook ended as ${run.status}`);
      }
    },
    "serverRequest/resolved": ({ requestId }) => requests.onResolved(requestId, turn.isStopped()),
    error: ({ error, willRetry }, from) => {
      if (!willRetry) return;
      // The model will send incomplete text again.
      items.close("retry", from);
      turn.onRetry(error);
    },
  };

  return {
    isLoaded: () => isLoaded,
    isWorking: () => turn.isRunning() || unreported.length > 0,
    owns: (id) => id === threadId || subAgents.get(id) !== undefined,
    reportTo(next, nextDecide) {
      sink = next;
      decide = nextDecide;
      flush();
    },
    stopReporting() {
      sink = undefined;
    },

    onNotification(method, params) {
      if (isLost) return;
      // A retry is no activity of the model.
      if (/^(item|turn)\//.test(method)) turn.onActivity();
      const from = typeof params["threadId"] === "string" ? params["threadId"] : threadId;
      if (Object.hasOwn(handlers, method)) {
        const handle = handlers[method as keyof Notifications] as (
          p: unknown,
          from: string,
        ) => void;
        return handle(params, from);
      }
      if (ignoredNotifications.has(method)) return;
      report({ type: "update", update: { sessionUpdate: "unknown", raw: { method, params } } });
    },

    onRequest(id, method, params) {
      turn.onActivity();
      const approval = params as unknown as ToolApproval;
      if (approval._meta?.codex_approval_kind === "mcp_tool_call") {
        const action = calls.takeTool(approval) ? "accept" : "decline";
        server.answer(id, { action, content: action === "accept" ? {} : null, _meta: null });
        return;
      }
      const allowed = calls.allowed(String(params["itemId"]));
      requests.onRequest(id, method, params, parentOf(String(params["threadId"])), allowed);
    },

    onCall(input, gone) {
      turn.onActivity();
      return calls.decide(input, gone);
    },

    catchUp: (last, hadTurn) => catchUp(last, hadTurn, { threadId, cursor, items, report }),

    async begin({ messageId, ...about }, call) {
      if (isLost) throw new AgentNotReady("The session was lost. Resume it.");
      // Reports nothing before the caller knows that the prompt was accepted.
      isHeld = true;
      place = about;
      const begun = beginTurnBy(messageId, call);
      delivering = begun.catch(() => {});
      try {
        await begun;
      } catch (error) {
        // The turn may or may not run, so the process is stopped.
        if (error instanceof CallLate) await server.stop();
        throw new AgentNotReady(`Codex did not accept the prompt: ${(error as Error).message}`, {
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
      // A prompt in delivery may start a turn, which must be stopped too.
      await delivering;
      if (!turn.isRunning()) return;
      requests.stop();
      await turn.abort();
    },

    answer: (key, answer) => requests.answer(key, answer),

    condensedBy: (messageId) => cursor.condensed.find(([id]) => id === messageId)?.[1],

    onReverted(turnId) {
      const used = turnId === null ? unused : null;
      Object.assign(cursor, { turn: turnId, isOver: true, told: [], open: [], used });
      report({ type: "cursor_moved" });
    },

    lose(reason) {
      if (isLost) return;
      isHeld = false;
      flush();
      items.close("interrupted");
      isLost = true;
      turn.lose();
      cursor.isOver = true;
      requests.drop();
      report({ type: "lost", reason });
      sink = undefined;
    },
  };
}
