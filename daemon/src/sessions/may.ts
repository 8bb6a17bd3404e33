// What may happen to a session while something else is under way. This table is the only place that
// decides it; limits, such as the length of the queue, are checked where they are used.
import { CommandRefusal } from "../command-refusal.ts";

export const states = [
  /** The session's directory and its agent are being prepared. */
  "starting",
  /** Nothing runs. */
  "idle",
  /** A shell command of a caller runs, and nothing else. */
  "shell",
  /** A prompt waits for the agent or is on its way to it. */
  "delivering",
  /** The agent works on a prompt. */
  "running",
  /** A caller has stopped the turn, and the agent has not confirmed it yet. */
  "stopping",
  /** Files and conversation are being taken back to before a message. */
  "reverting",
  /** The session is being cleaned up, or that failed. */
  "ending",
  /** The host has no such session, or no longer. */
  "ended",
] as const;
export type State = (typeof states)[number];

export const triggers = [
  "prompt",
  /** A slash command of the agent. */
  "command",
  "summary",
  "shell",
  "revert",
  "push",
  /** Changing what the agent may do without asking. */
  "mode",
  /** Changing which prompts wait, and in which order. */
  "queue",
  /** Reading or renaming the session. */
  "read",

  "abort",
  "answer",
  "end",
  "agent lost",
] as const;
export type Trigger = (typeof triggers)[number];

type Refusal = "session_ended" | "turn_running" | "not_found" | "push_failed";

/** `ignored`: not refused, but without effect. */
export type Verdict = "allowed" | "ignored" | Refusal;

const over = { ending: "session_ended", ended: "session_ended" } as const;
const closed = { starting: "session_ended", ...over } as const;
const busy = {
  delivering: "turn_running",
  running: "turn_running",
  stopping: "turn_running",
} as const;

/** What is not listed is allowed. A prompt that is accepted while another one runs waits in the queue. */
const table: Record<Trigger, Partial<Record<State, Verdict>>> = {
  prompt: closed,
  command: closed,
  summary: { ...closed, ...busy },
  shell: { ...closed, ...busy, reverting: "turn_running" },
  revert: { ...closed, ...busy, shell: "turn_running" },
  push: { starting: "push_failed", ...over },
  mode: closed,
  queue: closed,
  read: { ending: "not_found", ended: "not_found" },
  abort: { starting: "ignored", ending: "ignored", ended: "ignored" },
  answer: { ending: "ignored", ended: "ignored" },
  end: {},
  "agent lost": { ended: "ignored" },
};

export function may(state: State, trigger: Trigger): Verdict {
  return table[trigger][state] ?? "allowed";
}

/** Throws the refusal unless the table allows the trigger in this state. */
export function refuseUnless(state: State, trigger: Trigger): void {
  const verdict = may(state, trigger);
  if (verdict === "allowed" || verdict === "ignored") return;
  throw new CommandRefusal(verdict, explanations[state]);
}

const turnRuns = "A turn is running. Wait for its end, or stop it with abort_session.";
const isOver = "The session has ended. Start another.";

const explanations: Record<State, string> = {
  starting: "The session has not started yet. Try again when it has.",
  idle: "Nothing is running.",
  shell: "A shell command is running. Wait for its end, or stop it with abort_session.",
  delivering: turnRuns,
  running: turnRuns,
  stopping: turnRuns,
  reverting: "The session is being reverted. Try again when that is done.",
  ending: isOver,
  ended: isOver,
};
