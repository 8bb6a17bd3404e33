// Why a turn of codex failed.
import {
  explainFailure,
  failedTurn,
  failureOfStatus,
  quote,
  type FailedTurn,
  type ModelFailure,
} from "../model-failure.ts";
import type { TurnError } from "./protocol.ts";

const agent = { name: "Codex", loginCommand: "codex login" };

export function explainTurnError(error: TurnError | null): FailedTurn {
  if (!error) return failedTurn("Codex gave up without a reason. Prompt again.");
  const isRetry = error.message.startsWith("Reconnecting");
  const message = providerMessage((isRetry && error.additionalDetails) || error.message);
  const { word, status } = causeOf(error);
  if (word === "sandboxError") {
    return failedTurn(
      `Codex's sandbox does not work on this host. Allow user namespaces on it. ${quote(agent, message)}`,
    );
  }
  const failure = byWord[word] ?? byStatus(status);
  return explainFailure(agent, failure, message, { status: status ?? undefined });
}

const byWord: Record<string, ModelFailure> = {
  unauthorized: "login_refused",
  usageLimitExceeded: "usage_limit",
  rateLimitExceeded: "rate_limited",
  serverOverloaded: "overloaded",
  internalServerError: "overloaded",
  modelNotFound: "model_unknown",
  contextWindowExceeded: "too_long",
  badRequest: "request_refused",
};

function byStatus(status: number | null | undefined): ModelFailure | undefined {
  if (status === undefined) return undefined;
  return status === null ? "unreachable" : failureOfStatus(status);
}

/** The status is null if there was no answer at all. */
function causeOf({ codexErrorInfo: info, message }: TurnError): {
  word: string;
  status?: number | null;
} {
  if (info === null || typeof info === "string") {
    const wasCut = /stream disconnected|network error/i.test(message);
    return { word: info ?? "", ...(wasCut && { status: null }) };
  }
  const [word = "", details] = Object.entries(info)[0] ?? [];
  return { word, status: details?.httpStatusCode ?? null };
}

/** The provider's own message if codex passes on the provider's whole answer. */
function providerMessage(message: string): string {
  try {
    const { error } = JSON.parse(message) as { error?: { message?: string } };
    return error?.message ?? message;
  } catch {
    return message;
  }
}
