// The scripted agent's "process": its sessions, turns and requests. Separate from the driver, like a real
// agent, so that a test can close the driver and open another one on the same agent.
import { randomUUID } from "node:crypto";
import type { AgentEvent, Asked, Prompt, RequestAnswer, Sink } from "../driver.ts";
import { commands } from "./offer.ts";
import { playTurn } from "./play.ts";

export interface ScriptedAgent {
  startId: string;
  sessions: Map<string, ScriptedSession>;
  create(directory: string, title: string | null): ScriptedSession;
  /** The process dies: turns and requests are lost, sessions are kept. Listeners get `lost`. */
  crash(reason?: string): void;
}

export interface ScriptedSession {
  handle: string;
  directory: string;
  title: string | null;
  isRunning(): boolean;
  /** Ids of the prompts in the conversation. */
  messages: string[];
  /** All prompts that the session has accepted, in order. */
  given: Prompt[];
  /** The last text that was sent to the model. */
  played(): string;
  prompt(prompt: Prompt): void;
  abort(): void;
  answer(key: string, answer: RequestAnswer): "accepted" | "gone";
  isOpen(key: string): boolean;
  /** Answer of a request; undefined if it was not answered. */
  answerOf(key: string): RequestAnswer | undefined;
  /** Reports the events after this number, then all new ones. Replaces an earlier sink. */
  reportTo(sink: Sink, after: number): void;
  stopReporting(): void;
  /** Whether a turn ended after the event with this number. */
  endedAfter(after: number): boolean;
}

export function createScriptedAgent(): ScriptedAgent {
  const sessions = new Map<string, ScriptedSession & { die(reason: string): void }>();
  const agent: ScriptedAgent = {
    startId: randomUUID(),
    sessions,
    create(directory, title) {
      const session = openSession(directory, title);
      sessions.set(session.handle, session);
      return session;
    },
    crash(reason = "The agent's process ended.") {
      agent.startId = randomUUID();
      for (const session of sessions.values()) session.die(reason);
    },
  };
  return agent;
}

interface Turn {
  controller: AbortController;
  open: Map<string, (answer: RequestAnswer) => void>;
  /** The incomplete message, if the agent is writing one. */
  text: Extract<AgentEvent, { type: "text" }> | undefined;
}

function openSession(
  directory: string,
  title: string | null,
): ScriptedSession & { die(reason: string): void } {
  const events: AgentEvent[] = [];
  const messages: string[] = [];
  const answers = new Map<string, RequestAnswer>();
  const given: Prompt[] = [];
  let turn: Turn | undefined;
  let listener: Sink | undefined;

  // An event's number is its position in the list, from 1; incomplete text has no number.
  const report = (event: AgentEvent) => {
    if (event.type === "text") return listener?.(event);
    const numbered = { ...event, cursor: String(events.length + 1) };
    events.push(numbered);
    listener?.(numbered);
  };

  const play = async (text: string, own: Turn) => {
    const end = await playTurn(text, {
      directory,
      signal: own.controller.signal,
      report(event) {
        if (turn !== own) return;
        own.text = event.type === "text" ? joined(own.text, event) : undefined;
        report(event);
      },
      ask: (asked: Asked, toolCallId) =>
        new Promise((resolve) => {
          if (turn !== own) return;
          const key = randomUUID();
          own.open.set(key, resolve);
          report({ type: "request", key, asked, toolCallId });
        }),
    }).catch((error: unknown) => ({ outcome: "failed" as const, reason: String(error) }));
    if (turn !== own) return;
    turn = undefined;
    report({ type: "turn_ended", ...end });
  };

  return {
    handle: randomUUID(),
    directory,
    title,
    given,
    played: () => playedText(given.at(-1)!),
    isRunning: () => turn !== undefined,
    messages,
    prompt(prompt) {
      if (turn) throw new Error("A turn is running.");
      messages.push(prompt.messageId);
      turn = { controller: new AbortController(), open: new Map(), text: undefined };
      const own = turn;
      given.push(prompt);
      const text = playedText(prompt);
      // Starts after the caller knows that the prompt was accepted.
      setImmediate(() => void play(text, own));
    },
    abort() {
      turn?.open.clear();
      turn?.controller.abort();
    },
    answer(key, answer) {
      const resolve = turn?.open.get(key);
      if (!resolve) return "gone";
      turn?.open.delete(key);
      answers.set(key, answer);
      resolve(answer);
      return "accepted";
    },
    isOpen: (key) => turn?.open.has(key) ?? false,
    answerOf: (key) => answers.get(key),
    reportTo(sink, after) {
      for (const event of events.slice(after)) sink(event);
      if (turn?.text) sink(turn.text);
      listener = sink;
    },
    stopReporting() {
      listener = undefined;
    },
    endedAfter: (after) => events.slice(after).some(({ type }) => type === "turn_ended"),
    die(reason) {
      turn?.controller.abort();
      turn = undefined;
      const last = listener;
      listener = undefined;
      last?.({ type: "lost", reason });
    },
  };
}

/** The text that is sent to the model. A summary is a script of its own. */
function playedText({ task, text }: Prompt): string {
  if (task.type === "command") return commands[task.name]!.replace("$ARGUMENTS", text);
  return task.type === "summarize" ? `@@${JSON.stringify([{ text: "A summary." }])}` : text;
}

/** The text received so far, as one event. */
function joined(before: Turn["text"], more: NonNullable<Turn["text"]>): NonNullable<Turn["text"]> {
  if (before?.itemId !== more.itemId) return more;
  return { ...more, offset: before.offset, text: before.text + more.text };
}
