// The scripted agent's "process": its sessions, their turns and what they ask. It is apart from the
// driver, as a real agent is, so that a test can take the driver away and open another on the same agent.
import { randomUUID } from "node:crypto";
import type { AgentEvent, Asked, Prompt, RequestAnswer, Sink } from "../driver.ts";
import { commands } from "./offer.ts";
import { playTurn } from "./play.ts";

export interface ScriptedAgent {
  startId: string;
  sessions: Map<string, ScriptedSession>;
  create(directory: string, title: string | null): ScriptedSession;
  /** Dies: turns are cut, what waits is gone, whoever listens is told. Sessions stay, as on disk. */
  crash(reason?: string): void;
}

export interface ScriptedSession {
  handle: string;
  directory: string;
  title: string | null;
  isRunning(): boolean;
  /** The prompts of its conversation. */
  messages: string[];
  /** Everything it was given, in order. */
  given: Prompt[];
  /** What its model was asked last. */
  played(): string;
  prompt(prompt: Prompt): void;
  abort(): void;
  answer(key: string, answer: RequestAnswer): "accepted" | "gone";
  isOpen(key: string): boolean;
  /** How a request was answered; nothing when it was not. */
  answerOf(key: string): RequestAnswer | undefined;
  /** What was told after this event, then everything new. One listener at a time. */
  listen(after: number, sink: Sink): void;
  silence(): void;
  /** Whether a turn's end was told after this event. */
  endedAfter(after: number): boolean;
}

export function openScriptedAgent(): ScriptedAgent {
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
  /** The message that is being written, as far as it is. */
  text: Extract<AgentEvent, { type: "text" }> | undefined;
}

function openSession(
  directory: string,
  title: string | null,
): ScriptedSession & { die(reason: string): void } {
  const told: AgentEvent[] = [];
  const messages: string[] = [];
  const answers = new Map<string, RequestAnswer>();
  const given: Prompt[] = [];
  let turn: Turn | undefined;
  let listener: Sink | undefined;

  // An event's number is its place in the list, from 1 on; text on its way has none.
  const tell = (event: AgentEvent) => {
    if (event.type === "text") return listener?.(event);
    const numbered = { ...event, cursor: String(told.length + 1) };
    told.push(numbered);
    listener?.(numbered);
  };

  const play = async (text: string, own: Turn) => {
    const end = await playTurn(text, {
      directory,
      signal: own.controller.signal,
      tell(event) {
        if (turn !== own) return;
        own.text = event.type === "text" ? joined(own.text, event) : undefined;
        tell(event);
      },
      ask: (asked: Asked, toolCallId) =>
        new Promise((resolve) => {
          if (turn !== own) return;
          const key = randomUUID();
          own.open.set(key, resolve);
          tell({ type: "request", key, asked, toolCallId });
        }),
    }).catch((error: unknown) => ({ outcome: "failed" as const, reason: String(error) }));
    if (turn !== own) return;
    turn = undefined;
    tell({ type: "turn_ended", ...end });
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
      // Not before the caller knows that the prompt was taken.
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
    listen(after, sink) {
      for (const event of told.slice(after)) sink(event);
      if (turn?.text) sink(turn.text);
      listener = sink;
    },
    silence() {
      listener = undefined;
    },
    endedAfter: (after) => told.slice(after).some(({ type }) => type === "turn_ended"),
    die(reason) {
      turn?.controller.abort();
      turn = undefined;
      const last = listener;
      listener = undefined;
      last?.({ type: "lost", reason });
    },
  };
}

/** What the model is asked. A summary is its own answer. */
function playedText({ task, text }: Prompt): string {
  if (task.type === "command") return commands[task.name]!.replace("$ARGUMENTS", text);
  return task.type === "summarize" ? `@@${JSON.stringify([{ text: "A summary." }])}` : text;
}

/** What is written so far, as one event. */
function joined(before: Turn["text"], more: NonNullable<Turn["text"]>): NonNullable<Turn["text"]> {
  if (before?.itemId !== more.itemId) return more;
  return { ...more, offset: before.offset, text: before.text + more.text };
}
