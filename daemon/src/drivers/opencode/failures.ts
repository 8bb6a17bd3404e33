// Why a turn of opencode failed.
import {
  describeFailure,
  explainFailure,
  failedTurn,
  failureOfStatus,
  quote,
  type FailedTurn,
  type ModelFailure,
} from "../model-failure.ts";
import type { ErrorData, Retry } from "./frames.ts";

const agent = { name: "opencode", loginCommand: "opencode auth login" };

export function explainError({ name, data }: ErrorData): FailedTurn {
  const message = data?.message ?? name;
  const status = data?.statusCode;
  const isUsedUp =
    (status === undefined || status === 429 || status === 402) &&
    usedUp.test(`${message} ${data?.responseBody ?? ""}`);
  const failure =
    byName[name] ??
    (isUsedUp
      ? "usage_limit"
      : status === undefined
        ? failureIn(message)
        : failureOfStatus(status));
  return explainFailure(agent, failure, message, { status });
}

const byName: Record<string, ModelFailure> = {
  ProviderAuthError: "login_refused",
  ContextOverflowError: "too_long",
};

/** A call that opencode repeats has no status: its cause is known only from the message. */
export function explainRetries({ message, attempt, next }: Retry, now: number): FailedTurn {
  const tries = attempt === 1 ? "once" : `${attempt} times`;
  const failure = failureIn(message);
  const resetsAt = next - now > longWaitMs ? next : undefined;
  const why = failure
    ? describeFailure(agent, failure, { resetsAt })
    : "The model's service gave no complete answer. Prompt again in a few minutes.";
  return failedTurn(`${why} It was asked ${tries}. ${quote(agent, message)}`, failure);
}

/** Longer than opencode's own waits: the service has named the time of the next call. */
const longWaitMs = 40_000;

/** The quotas of all providers have no common code. */
const usedUp = /quota|usage.?limit|usage exceeded|credit balance|billing/i;

const patterns: [RegExp, ModelFailure][] = [
  [usedUp, "usage_limit"],
  [/\b429\b|rate.?limit|too many requests/i, "rate_limited"],
  [/connect|socket|network|ECONN|ENOTFOUND|timed? ?out|terminated|closed/i, "unreachable"],
  [/\b5\d\d\b|overloaded|unavailable|internal server error/i, "overloaded"],
];

function failureIn(message: string): ModelFailure | undefined {
  return patterns.find(([pattern]) => pattern.test(message))?.[1];
}
