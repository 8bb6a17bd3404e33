// One session of Claude Code. A process serves the session while it is in use. An idle process is ended;
// the next prompt starts another, which resumes the session from its transcript.
import { homedir } from "node:os";
import { childEnvironment } from "../../environment.ts";
import { within } from "../../pause.ts";
import {
  AgentNotReady,
  type AgentEvent,
  type AgentSession,
  type RequestAnswer,
  type Sink,
  type TurnEnd,
} from "../driver.ts";
import { explainSilence } from "../model-failure.ts";
import { watchSilence } from "../silence.ts";
import { createDecisions } from "./decisions.ts";
import { createEventReporter } from "./events.ts";
import { reasonToStop } from "./failures.ts";
import type { Message, RateLimit, Result } from "./messages.ts";
import { apply, chooseSettings, type ClaudeOffer } from "./offer.ts";
import { createRequests } from "./requests.ts";
import {
  createSessionProcess,
  lostSession,
  type SessionProcessOptions,
} from "./session-process.ts";
import { isBeginning, createTurn, outcomeOf, problemIn, type Turn } from "./turn.ts";
import {
  findTranscript,
  restoreTranscript,
  readAround,
  readBefore,
  firstTurnCursor,
} from "./transcript.ts";
import type { Quota } from "../quota.ts";
import { noteLimit, noteUsage } from "./account-quota.ts";
import { createMeter } from "./usage.ts";
import { userMessageOf, uuidFor } from "./user-message.ts";

export interface ClaudeSessionOptions extends SessionProcessOptions {
  sink: Sink;
  silenceMs: number;
  /** The used quota of the login. All sessions share one login. */
  quota: Quota;
  /** This object reports no more events. */
  onDetached(): void;
  /** The session was ended and must not be resumed. */
  onEnded(): void;
}

export interface ClaudeSession extends AgentSession {
  /** Starts the process now. Throws AgentNotReady. */
  open(signal: AbortSignal): Promise<ClaudeOffer>;
  /** Reports what a process of an earlier daemon did after the cursor. No-op if the cursor is null. */
  catchUp(cursor: string | null): Promise<void>;
  /** Start id of the process; undefined if none runs. */
  liveStarts(): string[];
  /** Ends the process and reports `lost`. */
  lose(reason: string): Promise<void>;
  /** Ends the process without reporting anything. */
  close(): Promise<void>;
}

const stopDeadlineMs = 5_000;
const processEnded = "The agent's process ended before this call did.";

export function openClaudeSession(options: ClaudeSessionOptions): ClaudeSession {
  const { settings, handle, config } = options;
  const { HOME: home = homedir() } = childEnvironment(options.environment);
  let isAttached = true;
  let meter = createMeter();
  let turn: Turn | undefined;
  /** Claude Code runs a turn that it started by itself: its end is not the end of a prompt's turn. */
  let isOwnTurn = false;
  let limit: RateLimit | undefined;

  const report = (event: AgentEvent) => {
    if (isAttached) options.sink(event);
  };
  const events = createEventReporter(settings.directory, (event) => {
    report(event.cursor === undefined ? event : { ...event, cursor: cursorOf(event.cursor) });
  });
  const requests = createRequests({ report, isStopped: () => turn?.stopped !== undefined });
  const decisions = createDecisions({
    settings,
    context: () => ({
      config,
      home,
      skills: claude.running()?.offer.commands.map(({ name }) => name) ?? [],
      attachments: turn?.files ?? [],
    }),
    requests,
    events,
  });
  /** Only the model must answer in time: tools and people may take as long as they need. */
  const silence = watchSilence(
    options.silenceMs,
    () => events.isCalling() || !requests.isEmpty(),
    (quietMs) => void stop(explainSilence(quietMs)),
  );
  /** The transcript may not exist before the end of the first turn. */
  let isFirstTurn = findTranscript(config, handle) === undefined;
  const cursorOf = (uuid: string) => (isFirstTurn ? firstTurnCursor(uuid) : uuid);

  const claude = createSessionProcess(options, {
    onMessage,
    onHook: decisions.onHook,
    onAsk: decisions.onAsk,
    onEnd: (why) => reportLost(`Claude Code's process ended. ${why}`),
    onStarting: () => void (meter = createMeter()),
    onEnding: () => silence.stop(),
    isAttached: () => isAttached,
    isWorking: () => turn !== undefined || isOwnTurn,
  });

  function onMessage(message: Message): void {
    events.onMessage(message);
    meter.note(message);
    if (isBeginning(message)) onTurnBegun();
    if (message.type === "assistant" && turn) turn.error ??= message.error;
    if (turn) turn.problem ??= problemIn(message);
    if (message.type === "rate_limit_event") {
      limit = message.rate_limit_info;
      noteLimit(options.quota, limit);
    }
    if (message.type === "system" && message.subtype === "api_retry") {
      const end = reasonToStop(message);
      if (end) void stop(end);
    } else silence.reset();
    if (message.type === "result") onResult(message);
  }

  /** Nobody waits for it: the next start of a session uses it. */
  async function readUsage(): Promise<void> {
    const query = claude.running()?.process.query;
    try {
      const usage = await query?.usage_EXPERIMENTAL_MAY_CHANGE_DO_NOT_RELY_ON_THIS_API_YET?.();
      if (usage) noteUsage(options.quota, usage);
    } catch {
      // The process has ended, or this version reports no usage.
    }
  }

  function onTurnBegun(): void {
    if (!turn) isOwnTurn = true;
    if (!turn || turn.hasBegun) return;
    turn.accept();
    report({ type: "cursor_moved", cursor: cursorOf(turn.message.uuid) });
  }

  function onResult(result: Result): void {
    decisions.forget();
    void readUsage();
    const usage = meter.read(result);
    if (usage) report(usage);
    if (isOwnTurn) {
      isOwnTurn = false;
      return claude.endWhenIdle();
    }
    finish(outcomeOf(result, turn, limit));
  }

  function finish(end: TurnEnd): void {
    if (!turn) return;
    turn.end();
    turn = undefined;
    isFirstTurn &&= findTranscript(config, handle) === undefined;
    requests.drop();
    silence.stop();
    events.closeOpenItems("The turn ended before this call did.");
    report({ type: "turn_ended", ...end });
    claude.endWhenIdle();
  }

  /** Interrupts the turn, which then ends with a result. A process that sends no result is ended. */
  async function stop(end: TurnEnd): Promise<void> {
    const stopping = turn;
    const current = claude.running();
    if (!stopping || !current) return;
    stopping.stopped ??= end;
    requests.drop();
    void current.process.query.interrupt().catch(() => {});
    if (await within(stopDeadlineMs, stopping.isOver)) return;
    await claude.end("stuck");
    if (turn === stopping) finish(stopping.stopped);
  }

  function reportLost(reason: string): void {
    claude.forget();
    silence.stop();
    const usage = turn && meter.readWithoutResult();
    turn?.reject(new AgentNotReady(reason));
    turn = undefined;
    requests.drop();
    events.closeOpenItems(processEnded);
    if (usage) report(usage);
    report({ type: "lost", reason });
    detach();
  }

  function detach(): void {
    isAttached = false;
    options.onDetached();
  }

  return {
    handle,
    open: async (signal) => (await claude.ensure(signal)).offer,
    ...(options.settings.trusted && {
      listCommands: async (signal: AbortSignal) => (await claude.ensure(signal)).offer.commands,
    }),

    async prompt(prompt, signal) {
      const { task } = prompt;
      if (task.type === "command") decisions.checkArguments(task.name, prompt.text);
      const message = await userMessageOf(prompt);
      const current = await claude.ensureFor(prompt, signal);
      claude.cancelIdleEnd();
      try {
        const choice = chooseSettings(current.offer, prompt);
        await apply(current.process.query, current.choice, choice);
        current.choice = choice;
      } finally {
        claude.endWhenIdle();
      }
      signal.throwIfAborted();
      limit = undefined;
      const own = createTurn(message, prompt, signal, () => {
        turn = undefined;
        // The process might still accept the prompt, so it is ended.
        void claude.end("stuck");
      });
      turn = own;
      current.process.send(message);
      silence.start();
      await own.isAccepted;
    },

    async abort() {
      if (turn) await stop({ outcome: "aborted", reason: null });
    },

    async answer(key: string, answer: RequestAnswer) {
      const running = claude.running();
      if (!running || !requests.answer(key, answer)) return "gone";
      const isRead = running.process.hasRead();
      silence.reset();
      return (await isRead) ? "accepted" : "gone";
    },

    // Ends the process first: it writes the transcript with a delay and keeps the conversation in memory.
    async revert(messageId) {
      if (!isAttached) throw lostSession();
      await claude.settled();
      await claude.endNow();
      await claude.endOthers();
      const before = readBefore(config, handle, uuidFor(messageId));
      if (!before) return "unknown";
      isFirstTurn = before.isEmpty;
      if (isFirstTurn) report({ type: "cursor_moved", cursor: firstTurnCursor("") });
      restoreTranscript(before);
      return "reverted";
    },

    // Claude Code has no titles.
    async rename() {},

    // The transcript is kept.
    async end() {
      detach();
      await claude.endNow();
      await claude.endOthers();
      options.onEnded();
    },

    // The process is ended too: its requests would not be reported.
    release() {
      if (!isAttached) return;
      detach();
      void claude.endNow();
    },

    async catchUp(cursor) {
      await claude.endOthers();
      const transcript = findTranscript(config, handle);
      if (!transcript || cursor === null) return;
      const { before, after } = readAround(transcript, cursor);
      for (const message of before) events.skip(message);
      for (const message of after) events.onMessage(message);
      events.closeOpenItems(processEnded);
    },

    liveStarts: claude.liveStarts,

    async lose(reason) {
      const ending = claude.endNow();
      reportLost(reason);
      await ending;
    },

    async close() {
      detach();
      await claude.endNow();
    },
  };
}
