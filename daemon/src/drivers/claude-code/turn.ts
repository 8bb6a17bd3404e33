// One turn: from the moment its prompt is sent until its end was told.
import { AgentNotReady, type Prompt, type TurnEnd } from "../driver.ts";
import { explainResult } from "./failures.ts";
import type { Message, RateLimit, Result, UserMessage } from "./messages.ts";

export interface Turn {
  message: UserMessage;
  /** Paths of the files that came with it. */
  files: readonly string[];
  hasBegun: boolean;
  /** Resolves when Claude Code has taken the prompt; rejects when it will not. */
  isTaken: Promise<void>;
  /** Resolves when it is over. */
  isOver: Promise<void>;
  take(): void;
  refuse(error: Error): void;
  end(): void;
  /** Set when somebody stops it. */
  stopped: TurnEnd | undefined;
  /** What Claude Code calls the error of the model. */
  error: string | undefined;
  /** Why its command could not run. */
  problem: string | undefined;
}

/** `onLate` is called when the signal comes before the prompt was taken. */
export function openTurn(
  message: UserMessage,
  { attachments }: Prompt,
  signal: AbortSignal,
  onLate: () => void,
): Turn {
  const taken = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const late = () => {
    onLate();
    taken.reject(new AgentNotReady("Claude Code did not take the prompt in time."));
  };
  signal.addEventListener("abort", late);
  const settle = () => signal.removeEventListener("abort", late);
  const turn: Turn = {
    message,
    files: attachments.map(({ path }) => path),
    hasBegun: false,
    isTaken: taken.promise,
    isOver: over.promise,
    take() {
      turn.hasBegun = true;
      settle();
      taken.resolve();
    },
    refuse(error) {
      settle();
      taken.reject(error);
      over.resolve();
    },
    end() {
      settle();
      taken.resolve();
      over.resolve();
    },
    stopped: undefined,
    error: undefined,
    problem: undefined,
  };
  return turn;
}

/** A summary is made before anything else is said of its turn. */
export const isBeginning = (message: Message) =>
  message.type === "system" && (message.subtype === "init" || message.status === "compacting");

/** A command that cannot run says so in the user's place, and ends as if all were well. */
export function problemIn(message: Message): string | undefined {
  if (message.type !== "user") return undefined;
  const { content } = message.message;
  if (typeof content !== "string") return undefined;
  return /^<local-command-stderr>(.*)<\/local-command-stderr>$/s.exec(content)?.[1];
}

export function outcomeOf(
  result: Result,
  turn: Turn | undefined,
  limit: RateLimit | undefined,
): TurnEnd {
  if (turn?.problem !== undefined && result.num_turns === 0 && !turn.stopped) {
    return { outcome: "failed", reason: `The command did not run. ${turn.problem}` };
  }
  // A command of its own that was stopped ends as if it were done.
  const isCut = turn?.stopped !== undefined && result.num_turns === 0;
  const isGood = !result.is_error && result.subtype === "success" && !isCut;
  if (isGood) return { outcome: "completed", reason: null };
  if (turn?.stopped) return turn.stopped;
  const isAborted = result.terminal_reason?.startsWith("aborted") ?? false;
  if (isAborted) return { outcome: "aborted", reason: null };
  return { outcome: "failed", reason: explainResult(result, turn?.error, limit) };
}
