// Determines how a turn ended, from the agent's last message and the errors that opencode reported.
import type { TurnEnd } from "../driver.ts";
import type { Turn } from "./events.ts";
import { explainError } from "./failures.ts";
import type { ErrorData } from "./frames.ts";

/**
 * Whether an error event of the session is of the turn that runs. The event names no turn. That of an aborted turn can
 * arrive after the next turn was sent, which it must not end; an abort by another client shows in the turn's message.
 */
export const isOfTurn = (error: ErrorData, stop: TurnEnd | undefined): boolean =>
  stop !== undefined || error.name !== "MessageAbortedError";

/**
 * `reported` is an error event of the session. `stop` is set if the turn was stopped: by a caller, or
 * because its model did not answer.
 */
export function outcomeOf(
  { last, hasBegun }: Turn,
  reported: ErrorData | undefined,
  stop: TurnEnd | undefined,
): TurnEnd {
  const error = last?.error ?? reported;
  const isAborted = error?.name === "MessageAbortedError";
  if (error && !isAborted && stop?.outcome !== "failed") {
    return explainError(error);
  }
  if (isAborted || (stop && last?.finish !== "stop")) {
    return stop ?? { outcome: "aborted", reason: null };
  }
  if (last?.time.completed !== undefined) return { outcome: "completed", reason: null };
  const reason = hasBegun
    ? "opencode stopped before the turn was finished."
    : "The prompt did not reach opencode.";
  return { outcome: "interrupted", reason };
}
