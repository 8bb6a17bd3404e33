// One session of Claude Code. A process serves it while it is in use; one that is idle is closed and the
// next prompt brings another, which takes the session up from its transcript.
import type { Environment } from "../../environment.ts";
import { within } from "../../pause.ts";
import {
  AgentNotReady,
  type AgentEvent,
  type AgentSession,
  type Prompt,
  type RequestAnswer,
  type SessionSettings,
  type Sink,
  type TurnEnd,
} from "../driver.ts";
import { explainSilence } from "../model-failure.ts";
import { readProjectNotes } from "../project-notes.ts";
import { watchSilence } from "../silence.ts";
import { openTelling } from "./events.ts";
import { reasonToStop } from "./failures.ts";
import { endProcesses } from "./leftovers.ts";
import type { Message, RateLimit, Result } from "./messages.ts";
import { apply, chooseSettings, offerOf, type Choice, type ClaudeOffer } from "./offer.ts";
import { decide } from "./policy.ts";
import { startProcess, type ClaudeProcess } from "./process.ts";
import { openRequests } from "./requests.ts";
import { isBeginning, openTurn, outcomeOf, problemIn, type Turn } from "./turn.ts";
import { findTranscript, goBackTo, readAround, readBefore, youngCursor } from "./transcript.ts";
import { openMeter } from "./usage.ts";
import { userMessageOf, uuidFor } from "./user-message.ts";

export interface ClaudeSessionOptions {
  place: SessionSettings;
  handle: string;
  sink: Sink;
  /** Throws AgentNotReady when none is installed. */
  program(): string;
  newStartId(): string;
  environment: Environment;
  /** Claude Code's own directory. */
  config: string;
  idleMs: number;
  silenceMs: number;
  /** It is served no more by this object. */
  onGone(): void;
  /** It is to be known no more. */
  onEnded(): void;
}

export interface ClaudeSession extends AgentSession {
  /** Starts its process now. Throws AgentNotReady. */
  open(signal: AbortSignal): Promise<ClaudeOffer>;
  /** What was done after the cursor, by a process that had lost its daemon. */
  catchUp(cursor: string | null): Promise<void>;
  liveStart(): string | undefined;
  /** Ends its process and tells that it is lost. */
  lose(reason: string): Promise<void>;
  /** Ends its process without a word. */
  close(): Promise<void>;
}

interface Served {
  process: ClaudeProcess;
  offer: ClaudeOffer;
  /** What was set last; nothing in a process that is new. */
  choice: Choice | undefined;
}

const stopDeadlineMs = 5_000;
const gone = () => new AgentNotReady("The session was lost. Resume it.");

export function openClaudeSession(settings: ClaudeSessionOptions): ClaudeSession {
  const { place, handle, config } = settings;
  let isHeld = true;
  let served: Served | undefined;
  let starting: Promise<Served> | undefined;
  let startingId: string | undefined;
  let meter = openMeter();
  let turn: Turn | undefined;
  /** A turn that Claude Code began by itself: its end is not that of a prompt. */
  let isOwnTurn = false;
  let limit: RateLimit | undefined;
  let idleTimer: NodeJS.Timeout | undefined;

  const tell = (event: AgentEvent) => {
    if (isHeld) settings.sink(event);
  };
  const telling = openTelling(place.directory, (event) => {
    tell(event.cursor === undefined ? event : { ...event, cursor: cursorOf(event.cursor) });
  });
  const requests = openRequests({
    tell,
    whenTold: (toolCallId) => telling.whenTold(toolCallId),
    isStopped: () => turn?.stopped !== undefined,
  });
  /** Only the model must answer in time: tools and people may take as long as they need. */
  const silence = watchSilence(
    settings.silenceMs,
    () => telling.isCalling() || !requests.isEmpty(),
    (quietMs) => void stop("failed", explainSilence(quietMs)),
  );
  /** Until the first turn is over the transcript may not be there yet. */
  let isYoung = findTranscript(config, handle) === undefined;
  const cursorOf = (uuid: string) => (isYoung ? youngCursor(uuid) : uuid);

  async function serve(signal: AbortSignal): Promise<Served> {
    if (!isHeld) throw gone();
    if (served) return served;
    starting ??= start(signal).finally(() => {
      starting = undefined;
      startingId = undefined;
    });
    return starting;
  }

  /** A process knows the slash commands that were there when it began. */
  async function serveFor({ task }: Prompt, signal: AbortSignal): Promise<Served> {
    const current = await serve(signal);
    if (task.type !== "command" || current.offer.commands.includes(task.name)) return current;
    await endProcess("idle");
    const next = await serve(signal);
    if (next.offer.commands.includes(task.name)) return next;
    throw new Error(`Claude Code has no command ${task.name} any more.`);
  }

  async function start(signal: AbortSignal): Promise<Served> {
    await endOthers();
    startingId = settings.newStartId();
    meter = openMeter();
    const process = await startProcess(
      {
        program: settings.program(),
        startId: startingId,
        directory: place.directory,
        environment: { ...settings.environment, HAWSER_SESSION: place.sessionId },
        session: findTranscript(config, handle) ? { resumed: handle } : { made: handle },
        notes: readProjectNotes(place.directory),
        onMessage: take,
        ask: requests.ask,
        decide: (input) => decide(place.policy, place.directory, input, turn?.files),
        onEnd: (why) => tellLost(`Claude Code's process ended. ${why}`),
      },
      signal,
    );
    served = { process, offer: offerOf(process.initialized), choice: undefined };
    if (!isHeld) {
      await endProcess("idle");
      throw gone();
    }
    restIdle();
    return served;
  }

  /** Two processes on one session would each write a history of their own. */
  function endOthers(): Promise<void> {
    const own = served?.process.startId;
    return endProcesses((one) => one.sessionId === place.sessionId && one.startId !== own, true);
  }

  function restIdle(): void {
    clearTimeout(idleTimer);
    idleTimer = setTimeout(() => {
      if (!turn && !isOwnTurn) void endProcess("idle");
    }, settings.idleMs);
    idleTimer.unref();
  }

  const stateNow = () => (turn || isOwnTurn ? "working" : "idle");

  async function endProcess(state: "idle" | "working" | "stuck"): Promise<void> {
    const ending = served;
    served = undefined;
    clearTimeout(idleTimer);
    silence.stop();
    await ending?.process.end(state);
  }

  function take(message: Message): void {
    telling.take(message);
    meter.note(message);
    if (isBeginning(message)) begin();
    if (message.type === "assistant" && turn) turn.error ??= message.error;
    if (turn) turn.problem ??= problemIn(message);
    if (message.type === "rate_limit_event") limit = message.rate_limit_info;
    if (message.type === "system" && message.subtype === "api_retry") {
      const reason = reasonToStop(message);
      if (reason) void stop("failed", reason);
    } else silence.reset();
    if (message.type === "result") takeResult(message);
  }

  function begin(): void {
    if (!turn) isOwnTurn = true;
    if (!turn || turn.hasBegun) return;
    turn.take();
    tell({ type: "cursor_moved", cursor: cursorOf(turn.message.uuid) });
  }

  function takeResult(result: Result): void {
    const usage = meter.read(result);
    if (usage) tell(usage);
    if (isOwnTurn) {
      isOwnTurn = false;
      return restIdle();
    }
    finish(outcomeOf(result, turn, limit));
  }

  function finish(end: TurnEnd): void {
    if (!turn) return;
    turn.end();
    turn = undefined;
    isYoung &&= findTranscript(config, handle) === undefined;
    requests.drop();
    silence.stop();
    telling.cut("The turn ended before this did.");
    tell({ type: "turn_ended", ...end });
    restIdle();
  }

  /** Its end comes as a result; a process that gives none is ended. */
  async function stop(outcome: TurnEnd["outcome"], reason: string | null): Promise<void> {
    const stopping = turn;
    const current = served;
    if (!stopping || !current) return;
    stopping.stopped ??= { outcome, reason };
    requests.drop();
    void current.process.query.interrupt().catch(() => {});
    if (await within(stopDeadlineMs, stopping.isOver)) return;
    await endProcess("stuck");
    if (turn === stopping) finish(stopping.stopped);
  }

  function tellLost(reason: string): void {
    served = undefined;
    clearTimeout(idleTimer);
    silence.stop();
    const usage = turn && meter.readCut();
    turn?.refuse(new AgentNotReady(reason));
    turn = undefined;
    requests.drop();
    telling.cut("The agent's process ended before this did.");
    if (usage) tell(usage);
    tell({ type: "lost", reason });
    letGo();
  }

  function letGo(): void {
    isHeld = false;
    settings.onGone();
  }

  return {
    handle,
    open: async (signal) => (await serve(signal)).offer,

    async prompt(prompt, signal) {
      const message = await userMessageOf(prompt);
      const current = await serveFor(prompt, signal);
      clearTimeout(idleTimer);
      try {
        const choice = chooseSettings(current.offer, prompt);
        await apply(current.process.query, current.choice, choice);
        current.choice = choice;
      } finally {
        restIdle();
      }
      signal.throwIfAborted();
      limit = undefined;
      const own = openTurn(message, prompt, signal, () => {
        turn = undefined;
        // Whether it will still take it is not known, so it must not.
        void endProcess("stuck");
      });
      turn = own;
      current.process.send(message);
      silence.start();
      await own.isTaken;
    },

    async abort() {
      if (turn) await stop("aborted", null);
    },

    async answer(key: string, answer: RequestAnswer) {
      if (!served || !requests.answer(key, answer)) return "gone";
      const isRead = served.process.hasRead();
      silence.reset();
      return (await isRead) ? "accepted" : "gone";
    },

    // The process first: it writes with some delay, and goes on from what it remembers.
    async revert(messageId) {
      if (!isHeld) throw gone();
      await starting?.catch(() => {});
      await endProcess(stateNow());
      await endOthers();
      const before = readBefore(config, handle, uuidFor(messageId));
      if (!before) return "unknown";
      isYoung = before.isEmpty;
      if (isYoung) tell({ type: "cursor_moved", cursor: youngCursor("") });
      goBackTo(before);
      return "reverted";
    },

    // The title is ours; Claude Code shows none of its own.
    async rename() {},

    // The transcript stays where Claude Code keeps it.
    async end() {
      letGo();
      await endProcess(stateNow());
      await endOthers();
      settings.onEnded();
    },

    // Nobody would hear what it asks, so its process does not go on either.
    release() {
      if (!isHeld) return;
      letGo();
      void endProcess(stateNow());
    },

    async catchUp(cursor) {
      await endOthers();
      const transcript = findTranscript(config, handle);
      if (!transcript || cursor === null) return;
      const { before, after } = readAround(transcript, cursor);
      for (const message of before) telling.skip(message);
      for (const message of after) telling.take(message);
      telling.cut("The agent's process ended before this did.");
    },

    liveStart: () => served?.process.startId ?? startingId,

    async lose(reason) {
      const ending = endProcess(stateNow());
      tellLost(reason);
      await ending;
    },

    async close() {
      letGo();
      await endProcess(stateNow());
    },
  };
}
