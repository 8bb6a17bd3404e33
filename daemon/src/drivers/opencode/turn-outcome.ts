// How a turn ended, from the last message of the agent and what was said beside it.
import type { TurnEnd } from "../driver.ts";
import type { Turn } from "./events.ts";
import { explainError } from "./failures.ts";
import type { ErrorData } from "./frames.ts";

/** `stop` is how it ends because it was stopped, by somebody or because nothing came of it. */
export function outcomeOf(
  { last, hasBegun }: Turn,
  said: ErrorData | undefined,
  stop: TurnEnd | undefined,
): TurnEnd {
  const error = last?.error ?? said;
  const isAborted = error?.name === "MessageAbortedError";
  if (error && !isAborted && stop?.outcome !== "failed") {
    return { outcome: "failed", reason: explainError(error) };
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
