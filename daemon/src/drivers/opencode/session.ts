// One session of the opencode server: its prompts, answers and end, and when its turn has ended. opencode
// reports `idle` more than once, and sometimes before its last event. So `idle` ends a turn only if the
// turn's last message is complete; otherwise the server's state must be idle in two further checks.
import {
  AgentNotReady,
  type AgentSession,
  type ResumableSession,
  type Prompt,
  type SessionSettings,
  type Sink,
  type TurnEnd,
} from "../driver.ts";
import { choose } from "../offer.ts";
import { ApiError, type Api } from "./api.ts";
import { readCursor } from "./cursor.ts";
import { createTracker, type Turn } from "./events.ts";
import type { ErrorData, LiveEvent, Part, SessionData, SyncEvent, ToolPart } from "./frames.ts";
import { readHistory } from "./history.ts";
import { isIdFor, messageIdFor } from "./message-id.ts";
import type { Offers } from "./offer.ts";
import { readProjectNotes } from "../project-notes.ts";
import { watchModel, type WaitLimits } from "./model-watch.ts";
import { createRequests, listRequests } from "./requests.ts";
import { revertTo } from "./revert.ts";
import type { ShellGate } from "./shell-gate.ts";
import { checkMentions } from "./slash-commands.ts";
import { bodyOf, exists, pathOf, sendTurn } from "./turn-request.ts";
import { isOfTurn, outcomeOf } from "./turn-outcome.ts";

export interface OpencodeSession extends AgentSession {
  directory: string;
  /** Handles an event of this session or of its sub-agents. No-op for events of other sessions. */
  onEvent(event: LiveEvent): void;
  /** Reads the events that were missed. Events that arrive meanwhile are handled afterwards. */
  catchUp(): Promise<void>;
  /** Events of the stream may be missing, and with them pieces of a text. */
  onStreamGap(): void;
  isRunning(): boolean;
  lose(reason: string): void;
}

interface OpencodeSessionOptions {
  api: Api;
  offers: Offers;
  gate: ShellGate;
  /** Names of opencode's MCP servers. */
  servers: readonly string[];
  id: string;
  settings: SessionSettings | ResumableSession;
  sink: Sink;
  limits: WaitLimits;
  /** The session reports no more events. */
  onReleased(session: OpencodeSession): void;
  /** Whether another session works in the same directory. */
  isShared(session: OpencodeSession): boolean;
}

export const titleFor = (title: string | null): string => title ?? "Hawser session";

/** opencode may need long to accept the first prompt in a directory. */
const beginMs = 60_000;
const confirmMs = 700;
const unanswerable =
  "opencode asked for permission while the daemon was not running, and cannot repeat the request. Prompt again.";

export function openOpencodeSession(options: OpencodeSessionOptions): OpencodeSession {
  const { api, offers, id, settings, sink } = options;
  const { directory } = settings;
  const resumed = "handle" in settings ? settings : undefined;
  const cursor = resumed?.cursor ?? null;
  let isAttached = true;
  /** Events that arrived while missed events are read. */
  let waiting: LiveEvent[] | undefined;
  let catching: Promise<void> | undefined;
  let confirming: NodeJS.Timeout | undefined;
  let idleChecks = 0;
  let unknownChecks = 0;
  /** How the turn will end, if it is being stopped. */
  let stop: TurnEnd | undefined;
  let aborting: Promise<unknown> = Promise.resolve();
  let promptedAt = 0;
  let error: ErrorData | undefined;
  /** Called when opencode has started the turn of a prompt. */
  let onBegun = () => {};

  const tracker = createTracker(
    {
      id,
      directory,
      title: titleFor(settings.title),
      cursor,
      openRequests: resumed?.openRequests ?? [],
      windowOf: (providerId, modelId) => offers.windowOf(providerId, modelId),
    },
    (event) => {
      if (isAttached) sink(event);
    },
  );
  const { gate, servers } = options;
  const requests = createRequests({ api, gate, settings, tracker, servers, catchUp });
  const model = watchModel(
    options.limits,
    () => tracker.openRequests().length > 0 || tracker.isCalling(),
    (end) => {
      if (!tracker.turn() || stop) return;
      stop = end;
      sendAbort().catch(() => {});
      confirmSoon();
    },
  );
  if (resumed) {
    const { turnId, messageId } = resumed;
    if (turnId === null) tracker.forgetTurn();
    // The cursor may be that of an earlier turn, whose end must not count as the end of this one.
    else if (messageId !== null) tracker.expectTurn((id) => isIdFor(messageId, id));
    else if (readCursor(cursor).turn === null) tracker.expectTurn("any");
    if (turnId !== null) model.start();
  }

  function onEvent(live: LiveEvent): void {
    if (!concerns(live)) return;
    if (waiting) waiting.push(live);
    else handle(live);
  }

  function concerns(live: LiveEvent): boolean {
    if (live.type !== "sync") return tracker.has(live.sessionID);
    const { sessionID, type, data } = live.event;
    if (tracker.has(sessionID)) return true;
    const parent = type.startsWith("session.created.") && (data["info"] as SessionData).parentID;
    return typeof parent === "string" && tracker.has(parent);
  }

  function handle(live: LiveEvent): void {
    model.onEvent(live);
    switch (live.type) {
      case "sync":
        if (apply(live.event, "stream") === "gap") {
          tracker.forgetOffsets();
          catchUp().catch(() => confirmSoon());
        }
        if (tracker.turn()?.hasBegun) onBegun();
        return;
      case "delta":
        return tracker.appendText(live.partID, live.delta);
      case "asked":
        return requests.onRequest(live.request);
      case "settled":
        requests.onSettled(live.requestID);
        return tracker.settleRequest(live.requestID, live.reply);
      case "error":
        if (live.sessionID !== id || !tracker.turn() || !isOfTurn(live.error, stop)) return;
        error ??= live.error;
        return confirmSoon();
      case "status":
        if (live.sessionID === id) onStatus(live.status);
    }
  }

  function apply(event: SyncEvent, from: "stream" | "history"): "applied" | "gap" {
    const applied = tracker.apply(event, from);
    const part = event.type.startsWith("message.part.updated.") && (event.data["part"] as Part);
    if (applied === "applied" && part && part.type === "tool") requests.onCall(part as ToolPart);
    return applied;
  }

  function onStatus(status: "busy" | "idle" | "retry"): void {
    const turn = tracker.turn();
    if (!turn) return;
    if (status !== "idle") {
      idleChecks = 0;
      // opencode ignores an abort that arrives before the turn has started: aborts again.
      if (stop && status === "busy") void sendAbort().catch(() => confirmSoon());
      return;
    }
    if (turn.hasBegun && turn.last?.time.completed !== undefined) endTurn(turn);
    else confirmSoon();
  }

  function endTurn(turn: Turn): void {
    clearTimeout(confirming);
    confirming = undefined;
    model.stop();
    const end = outcomeOf(turn, error, stop);
    stop = undefined;
    error = undefined;
    requests.onTurnEnd();
    tracker.endTurn(end);
  }

  function confirmSoon(): void {
    if (confirming || !isAttached) return;
    confirming = setTimeout(() => {
      confirming = undefined;
      catchUp().catch(() => confirmSoon());
    }, confirmMs);
  }

  function catchUp(): Promise<void> {
    catching ??= readMissedEvents().finally(() => {
      catching = undefined;
    });
    return catching;
  }

  async function readMissedEvents(): Promise<void> {
    waiting = [];
    try {
      // Reads the status first: everything that happened before it is in the history.
      const status = (await api.request("GET", "/session/status", { directory })) as object;
      const history = await readHistory(api, tracker);
      const listed = await listRequests(api, directory);
      if (!isAttached) return;
      for (const each of history) apply(each, "history");
      if (tracker.turn()?.hasBegun) onBegun();
      const isBusy = Object.hasOwn(status, id);
      if (isBusy && listed) requests.compare(listed);
      if (isBusy && !listed) endIfUnanswerable();
      else unknownChecks = 0;
      if (isBusy && requests.areSomeUnknown()) confirmSoon();
      handleWaiting();
      const turn = tracker.turn();
      if (turn && !isBusy) endIfOver(turn);
    } finally {
      handleWaiting();
    }
  }

  /** Ends a turn that waits for a request which nobody can answer, because opencode cannot list it. */
  function endIfUnanswerable(): void {
    if (!requests.areSomeUnknown() || ++unknownChecks < 3) return;
    stop ??= { outcome: "failed", reason: unanswerable };
    void sendAbort().catch(() => {});
  }

  function handleWaiting(): void {
    const events = waiting ?? [];
    waiting = undefined;
    for (const each of events) handle(each);
  }

  function endIfOver(turn: Turn): void {
    if (turn.hasBegun && turn.last?.time.completed !== undefined) return endTurn(turn);
    const mayBegin = !turn.hasBegun && !error && Date.now() - promptedAt < beginMs;
    if (!mayBegin && ++idleChecks >= 2) return endTurn(turn);
    confirmSoon();
  }

  /** An abort stops whatever runs when it arrives, so the next prompt waits until it has arrived. */
  function sendAbort(): Promise<unknown> {
    const sent = api.request("POST", `/session/${id}/abort`, { directory });
    aborting = Promise.allSettled([aborting, sent]);
    return sent;
  }

  async function send(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const chosen = choose(await offers.recent(signal), prompt);
    const { task, text } = prompt;
    if (task.type === "command")
      await checkMentions(api, settings, { name: task.name, text }, signal);
    const messageID = messageIdFor(prompt.messageId);
    const body = await bodyOf(prompt, {
      messageID,
      ...chosen,
      system: readProjectNotes(directory),
    });
    gate.install({ keepPasses: true });
    await aborting;
    // Last point to give up: a request that is cut may still arrive, and would start a turn unnoticed.
    signal.throwIfAborted();
    stop = undefined;
    error = undefined;
    idleChecks = 0;
    promptedAt = Date.now();
    model.start();
    // opencode chooses the id of a summary's message itself.
    tracker.expectTurn(prompt.task.type === "summarize" ? "any" : (each) => each === messageID);
    const begun = Promise.withResolvers<void>();
    onBegun = begun.resolve;
    const request = {
      path: `/session/${id}/${pathOf(prompt)}`,
      directory,
      body,
      deadlineMs: beginMs,
    };
    try {
      await sendTurn(api, request, begun.promise);
    } catch (problem) {
      // The prompt may have arrived although there was no answer.
      const message = `/session/${id}/message/${messageID}`;
      if (tracker.turn()?.hasBegun || (await exists(api, message, directory))) return;
      tracker.forgetTurn();
      model.stop();
      const isGone = problem instanceof ApiError && problem.status === 0;
      throw isGone ? new AgentNotReady(problem.message) : problem;
    } finally {
      onBegun = () => {};
    }
  }

  function release(): void {
    isAttached = false;
    clearTimeout(confirming);
    model.stop();
    options.onReleased(session);
  }

  const session: OpencodeSession = {
    handle: id,
    directory,
    onEvent,
    catchUp,
    onStreamGap: () => tracker.forgetOffsets(),
    isRunning: () => tracker.turn() !== undefined,
    release,
    lose(reason) {
      if (isAttached) sink({ type: "lost", reason });
      release();
    },
    async prompt(prompt, signal) {
      if (!isAttached) throw new AgentNotReady("opencode's process is gone. Resume the session.");
      await send(prompt, signal);
    },
    async abort() {
      if (!tracker.turn()) return;
      stop ??= { outcome: "aborted", reason: null };
      await sendAbort();
      confirmSoon();
    },
    answer: async (key, answer) => (isAttached ? requests.answer(key, answer) : "gone"),
    async rename(title, signal) {
      tracker.setTitle(title);
      await api.request("PATCH", `/session/${id}`, { directory, body: { title }, signal });
    },
    revert: (messageId, signal) => revertTo(api, { id, directory }, messageId, signal),
    async end(signal) {
      const isShared = options.isShared(session);
      const wasRunning = tracker.turn() !== undefined;
      release();
      try {
        // A busy session would keep running after its deletion.
        if (wasRunning) await sendAbort();
        await api.request("DELETE", `/session/${id}`, { directory, signal });
      } catch (problem) {
        if (!(problem instanceof ApiError && problem.status === 404)) throw problem;
      }
      if (!isShared) await api.request("POST", "/instance/dispose", { directory, signal });
    },
  };
  return session;
}
