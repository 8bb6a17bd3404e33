// Why a turn of Claude Code failed.
import {
  describeFailure,
  explainFailure,
  failedTurn,
  failureOfStatus,
  type FailedTurn,
  type ModelFailure,
} from "../model-failure.ts";
import type { RateLimit, Result, SystemMessage } from "./messages.ts";

const agent = {
  name: "Claude Code",
  loginCommand: "claude auth login",
  condenseCommand: "compact",
};

/** `error` is Claude Code's name for the model's error, as in its last assistant message. */
export function explainResult(
  { api_error_status: status, result, errors, subtype }: Result,
  error: string | undefined,
  limit: RateLimit | undefined,
): FailedTurn {
  const message = (result ?? errors?.join(" ") ?? "").trim() || subtype;
  if (/Not logged in/i.test(message)) {
    return failedTurn(
      `Claude Code is not logged in on this host. Log in, then prompt again. Claude Code says: ${message}`,
    );
  }
  const isUsedUp =
    error === "billing_error" || (error === "rate_limit" && limit?.status === "rejected");
  const failure = isUsedUp ? "usage_limit" : failureOf(status ?? undefined, error, message);
  return explainFailure(agent, failure, message, {
    status: status ?? undefined,
    resetsAt: limit?.resetsAt && limit.resetsAt * 1000,
  });
}

function failureOf(
  status: number | undefined,
  error: string | undefined,
  message: string,
): ModelFailure | undefined {
  if (/prompt is too long/i.test(message)) return "too_long";
  if (error === "authentication_failed") return "login_refused";
  if (error === "rate_limit") return "rate_limited";
  if (status) return failureOfStatus(status);
  if (/\b529\b|overloaded/i.test(message)) return "overloaded";
  if (/Unable to connect|timed out|ECONN|ENOTFOUND/i.test(message)) return "unreachable";
  return undefined;
}

/** A turn waits at most this long for Claude Code's next call of the model. */
const longestWaitMs = 20_000;

/** Why a turn must not wait for the next call of the model; undefined if it may wait. */
export function reasonToStop({
  retry_delay_ms: wait = 0,
  ...retry
}: SystemMessage): FailedTurn | undefined {
  if (wait <= longestWaitMs) return undefined;
  if (retry.error_status === 429 || retry.error === "rate_limit") {
    return failedTurn(describeFailure(agent, "rate_limited", { resetsAt: Date.now() + wait }));
  }
  const seconds = Math.ceil(wait / 1000);
  const cause = retry.error_status ?? retry.error ?? "no answer";
  return failedTurn(
    `The model's service asks to wait ${seconds} seconds (${cause}). Prompt again after that.`,
  );
}
