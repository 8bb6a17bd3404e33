// One session at the opencode server: its prompts, answers and end, and when its turn is over. opencode says
// `idle` more than once, and sometimes before it has said everything, so an idle counts only when the last
// message of the turn is complete; otherwise the server is asked, twice, before the turn is called over.
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
import { openTracker, type Turn } from "./events.ts";
import type {
  ErrorData,
  LiveEvent,
  PermissionRequest,
  QuestionRequest,
  SessionData,
} from "./frames.ts";
import { readNews } from "./history.ts";
import { messageIdFor } from "./message-id.ts";
import type { Offers } from "./offer.ts";
import { readProjectNotes } from "../project-notes.ts";
import { watchModel, type WaitLimits } from "./model-watch.ts";
import { openRequests } from "./requests.ts";
import { revertTo } from "./revert.ts";
import { bodyOf, giveTurn, isThere, pathOf } from "./turn-request.ts";
import { outcomeOf } from "./turn-outcome.ts";

export interface OpencodeSession extends AgentSession {
  directory: string;
  /** Whether an event is about this session or one below it; then it is taken. */
  event(event: LiveEvent): void;
  /** Reads what was missed. Events that come meanwhile are taken after it. */
  catchUp(): Promise<void>;
  /** The stream was cut: text on its way is no longer known from its beginning. */
  streamCut(): void;
  isRunning(): boolean;
  lose(reason: string): void;
}

interface Wiring {
  api: Api;
  offers: Offers;
  id: string;
  place: SessionSettings | ResumableSession;
  sink: Sink;
  limits: WaitLimits;
  /** It is no longer served. */
  gone(session: OpencodeSession): void;
  /** Whether another one works in the directory. */
  isShared(session: OpencodeSession): boolean;
}

export const titleFor = (title: string | null): string => title ?? "Hawser session";

/** A cold directory takes its time until the prompt is there. */
const beginMs = 60_000;
const lookAgainMs = 700;

export function openOpencodeSession(wiring: Wiring): OpencodeSession {
  const { api, offers, id, place, sink } = wiring;
  const { directory } = place;
  const kept = "handle" in place ? place : undefined;
  const cursor = kept?.cursor ?? null;
  let isServed = true;
  let waiting: LiveEvent[] | undefined;
  let catching: Promise<void> | undefined;
  let confirming: NodeJS.Timeout | undefined;
  let idleLooks = 0;
  /** How the turn ends because it is being stopped. */
  let stop: TurnEnd | undefined;
  let aborting: Promise<unknown> = Promise.resolve();
  let promptedAt = 0;
  let error: ErrorData | undefined;
  /** Called when opencode has what it was given. */
  let onBegun = () => {};

  const tracker = openTracker(
    {
      id,
      directory,
      title: titleFor(place.title),
      cursor,
      openRequests: kept?.openRequests ?? [],
    },
    (event) => {
      if (isServed) sink(event);
    },
  );
  const requests = openRequests(api, place, tracker);
  const model = watchModel(
    wiring.limits,
    () => tracker.openRequests().length > 0 || tracker.isCalling(),
    (reason) => {
      if (!tracker.turn() || stop) return;
      stop = { outcome: "failed", reason };
      sendAbort().catch(() => {});
      confirmSoon();
    },
  );
  if (kept) {
    if (kept.turnId === null) tracker.forgetTurn();
    else if (readCursor(cursor).turn === null) tracker.expect(undefined);
    if (kept.turnId !== null) model.start();
  }

  function event(live: LiveEvent): void {
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
        if (tracker.take(live.event, "stream") === "gap") {
          tracker.forgetOffsets();
          catchUp().catch(() => confirmSoon());
        }
        if (tracker.turn()?.hasBegun) onBegun();
        return;
      case "delta":
        return tracker.delta(live.partID, live.delta);
      case "asked":
        return requests.take(live.request);
      case "settled":
        return tracker.settled(live.requestID, live.reply);
      case "error":
        if (live.sessionID !== id || !tracker.turn()) return;
        error ??= live.error;
        return confirmSoon();
      case "status":
        if (live.sessionID === id) takeStatus(live.status);
    }
  }

  function takeStatus(status: "busy" | "idle" | "retry"): void {
    const turn = tracker.turn();
    if (!turn) return;
    if (status !== "idle") {
      idleLooks = 0;
      // An abort that came before opencode had begun stopped nothing.
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
    tracker.endTurn(end);
  }

  function confirmSoon(): void {
    if (confirming || !isServed) return;
    confirming = setTimeout(() => {
      confirming = undefined;
      catchUp().catch(() => confirmSoon());
    }, lookAgainMs);
  }

  function catchUp(): Promise<void> {
    catching ??= readMissed().finally(() => {
      catching = undefined;
    });
    return catching;
  }

  async function readMissed(): Promise<void> {
    waiting = [];
    try {
      // The order matters: what was over when the status was read is all in the history.
      const status = (await api.request("GET", "/session/status", { directory })) as object;
      const history = await readNews(api, tracker);
      const [permissions, questions] = (await Promise.all([
        api.request("GET", "/permission", { directory }),
        api.request("GET", "/question", { directory }),
      ])) as [PermissionRequest[], QuestionRequest[]];
      if (!isServed) return;
      for (const each of history) tracker.take(each, "history");
      if (tracker.turn()?.hasBegun) onBegun();
      const isBusy = Object.hasOwn(status, id);
      if (isBusy) requests.compare([...permissions, ...questions]);
      drain();
      const turn = tracker.turn();
      if (turn && !isBusy) considerOver(turn);
    } finally {
      drain();
    }
  }

  function drain(): void {
    const events = waiting ?? [];
    waiting = undefined;
    for (const each of events) handle(each);
  }

  function considerOver(turn: Turn): void {
    if (turn.hasBegun && turn.last?.time.completed !== undefined) return endTurn(turn);
    const mayBegin = !turn.hasBegun && !error && Date.now() - promptedAt < beginMs;
    if (!mayBegin && ++idleLooks >= 2) return endTurn(turn);
    confirmSoon();
  }

  /** An abort is for whatever runs when it arrives, so the next prompt waits until it has. */
  function sendAbort(): Promise<unknown> {
    const sent = api.request("POST", `/session/${id}/abort`, { directory });
    aborting = Promise.allSettled([aborting, sent]);
    return sent;
  }

  async function send(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const chosen = choose(await offers.recent(signal), prompt);
    const messageID = messageIdFor(prompt.messageId);
    const body = await bodyOf(prompt, {
      messageID,
      ...chosen,
      system: readProjectNotes(directory),
    });
    await aborting;
    // From here on it is opencode's: a request that is cut may arrive all the same, and would run unseen.
    signal.throwIfAborted();
    stop = undefined;
    error = undefined;
    idleLooks = 0;
    promptedAt = Date.now();
    model.start();
    // opencode names the message of a summary itself.
    tracker.expect(prompt.task.type === "summarize" ? undefined : messageID);
    const begun = Promise.withResolvers<void>();
    onBegun = begun.resolve;
    const given = {
      path: `/session/${id}/${pathOf(prompt)}`,
      directory,
      body,
      deadlineMs: beginMs,
    };
    try {
      await giveTurn(api, given, begun.promise);
    } catch (problem) {
      // Without an answer it may have arrived all the same.
      const message = `/session/${id}/message/${messageID}`;
      if (tracker.turn()?.hasBegun || (await isThere(api, message, directory))) return;
      tracker.forgetTurn();
      model.stop();
      const isGone = problem instanceof ApiError && problem.status === 0;
      throw isGone ? new AgentNotReady(problem.message) : problem;
    } finally {
      onBegun = () => {};
    }
  }

  function release(): void {
    isServed = false;
    clearTimeout(confirming);
    model.stop();
    wiring.gone(session);
  }

  const session: OpencodeSession = {
    handle: id,
    directory,
    event,
    catchUp,
    streamCut: () => tracker.forgetOffsets(),
    isRunning: () => tracker.turn() !== undefined,
    release,
    lose(reason) {
      if (isServed) sink({ type: "lost", reason });
      release();
    },
    async prompt(prompt, signal) {
      if (!isServed) throw new AgentNotReady("opencode's process is gone. Resume the session.");
      await send(prompt, signal);
    },
    async abort() {
      if (!tracker.turn()) return;
      stop ??= { outcome: "aborted", reason: null };
      await sendAbort();
      confirmSoon();
    },
    answer: async (key, answer) => (isServed ? requests.answer(key, answer) : "gone"),
    async rename(title, signal) {
      tracker.renamed(title);
      await api.request("PATCH", `/session/${id}`, { directory, body: { title }, signal });
    },
    revert: (messageId, signal) => revertTo(api, { id, directory }, messageId, signal),
    async end(signal) {
      const isShared = wiring.isShared(session);
      const wasRunning = tracker.turn() !== undefined;
      release();
      try {
        // A session that is deleted while it is busy goes on.
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
