// Why a turn of opencode failed, as a sentence for the caller.
import {
  describeFailure,
  explainFailure,
  failureOfStatus,
  quote,
  type ModelFailure,
} from "../model-failure.ts";
import type { ErrorData, Retry } from "./frames.ts";

const agent = { name: "opencode", loginCommand: "opencode auth login" };

export function explainError({ name, data }: ErrorData): string {
  const message = data?.message ?? name;
  const status = data?.statusCode;
  const failure =
    byName[name] ?? (status === undefined ? failureIn(message) : failureOfStatus(status));
  return explainFailure(agent, failure, message, { status });
}

const byName: Record<string, ModelFailure> = {
  ProviderAuthError: "login_refused",
  ContextOverflowError: "too_long",
};

/** A call that opencode repeats has no status: its cause is known only from the message. */
export function explainRetries({ message, attempt, next }: Retry, now: number): string {
  const tries = attempt === 1 ? "once" : `${attempt} times`;
  const failure = failureIn(message);
  const resetsAt = next - now > longWaitMs ? next : undefined;
  const why = failure
    ? describeFailure(agent, failure, { resetsAt })
    : "The model's service gave no complete answer. Prompt again in a few minutes.";
  return `${why} It was asked ${tries}. ${quote(agent, message)}`;
}

/** Longer than opencode's own waits: the service has named the time of the next call. */
const longWaitMs = 40_000;

const patterns: [RegExp, ModelFailure][] = [
  [/\b429\b|rate.?limit|too many requests|quota|usage limit|usage exceeded/i, "rate_limited"],
  [/connect|socket|network|ECONN|ENOTFOUND|timed? ?out|terminated|closed/i, "unreachable"],
  [/\b5\d\d\b|overloaded|unavailable|internal server error/i, "overloaded"],
];

function failureIn(message: string): ModelFailure | undefined {
  return patterns.find(([pattern]) => pattern.test(message))?.[1];
}
