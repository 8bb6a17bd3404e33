// One turn of Claude Code, from sending its prompt until its end is reported.
import { AgentNotReady, type Prompt, type TurnEnd } from "../driver.ts";
import { explainResult } from "./failures.ts";
import type { Message, RateLimit, Result, UserMessage } from "./messages.ts";

export interface Turn {
  message: UserMessage;
  /** Paths of the prompt's attachments. */
  files: readonly string[];
  hasBegun: boolean;
  /** Resolves when Claude Code has accepted the prompt; rejects if it does not. */
  isAccepted: Promise<void>;
  /** Resolves when the turn has ended. */
  isOver: Promise<void>;
  accept(): void;
  reject(error: Error): void;
  end(): void;
  /** How the turn will end, if it is being stopped. */
  stopped: TurnEnd | undefined;
  /** Claude Code's name for the error of the model. */
  error: string | undefined;
  /** Why the slash command could not run. */
  problem: string | undefined;
}

/** Calls `onLate` if the signal is aborted before Claude Code has accepted the prompt. */
export function createTurn(
  message: UserMessage,
  { attachments }: Prompt,
  signal: AbortSignal,
  onLate: () => void,
): Turn {
  const accepted = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const late = () => {
    onLate();
    accepted.reject(new AgentNotReady("Claude Code did not accept the prompt in time."));
  };
  signal.addEventListener("abort", late);
  const settle = () => signal.removeEventListener("abort", late);
  const turn: Turn = {
    message,
    files: attachments.map(({ path }) => path),
    hasBegun: false,
    isAccepted: accepted.promise,
    isOver: over.promise,
    accept() {
      turn.hasBegun = true;
      settle();
      accepted.resolve();
    },
    reject(error) {
      settle();
      accepted.reject(error);
      over.resolve();
    },
    end() {
      settle();
      accepted.resolve();
      over.resolve();
    },
    stopped: undefined,
    error: undefined,
    problem: undefined,
  };
  return turn;
}

/** Whether the message shows that a turn has begun. A turn that condenses begins with `compacting`. */
export const isBeginning = (message: Message) =>
  message.type === "system" && (message.subtype === "init" || message.status === "compacting");

/**
 * Why a slash command could not run; undefined for other messages. Claude Code reports it in a user message
 * and then ends the turn as a success.
 */
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
  // Claude Code reports a slash command that was stopped as a success.
  const isCut = turn?.stopped !== undefined && result.num_turns === 0;
  const isGood = !result.is_error && result.subtype === "success" && !isCut;
  if (isGood) return { outcome: "completed", reason: null };
  if (turn?.stopped) return turn.stopped;
  const isAborted = result.terminal_reason?.startsWith("aborted") ?? false;
  if (isAborted) return { outcome: "aborted", reason: null };
  return explainResult(result, turn?.error, limit);
}
