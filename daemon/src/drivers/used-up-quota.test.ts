// Which errors of the agents mean that the quota of the account is used up, so that another kind could continue.
import assert from "node:assert/strict";
import { test } from "node:test";
import { explainResult } from "./claude-code/failures.ts";
import { explainTurnError } from "./codex/failures.ts";
import type { FailedTurn } from "./model-failure.ts";
import { explainError, explainRetries } from "./opencode/failures.ts";

const codex = (codexErrorInfo: unknown, message = "No.") =>
  explainTurnError({ message, codexErrorInfo } as Parameters<typeof explainTurnError>[0]);

const claude = (error: string, status: number | null, limit?: "rejected" | "allowed_warning") => {
  const result = { type: "result", subtype: "success", is_error: true, total_cost_usd: 0 } as const;
  const about = { ...result, api_error_status: status, result: "No." };
  return explainResult(about, error, limit && { status: limit, resetsAt: 1_794_700_393 });
};

const opencode = (message: string, statusCode?: number, responseBody?: string) =>
  explainError({
    name: "APIError",
    data: {
      message,
      ...(statusCode !== undefined && { statusCode }),
      ...(responseBody !== undefined && { responseBody }),
    },
  });

const retried = (message: string) => explainRetries({ attempt: 3, message, next: 0 }, 0);

const table: [what: string, end: FailedTurn, cause: "quota" | undefined][] = [
  ["codex: the limit of the account", codex("usageLimitExceeded"), "quota"],
  ["codex: too many requests", codex("rateLimitExceeded"), undefined],
  [
    "codex: status 429",
    codex({ responseTooManyFailedAttempts: { httpStatusCode: 429 } }),
    undefined,
  ],
  ["codex: a refused login", codex("unauthorized"), undefined],
  ["codex: an overloaded service", codex("serverOverloaded"), undefined],
  ["codex: an unknown error", codex("meltdown"), undefined],
  ["codex: no error at all", explainTurnError(null), undefined],
  ["claude_code: a rejected limit", claude("rate_limit", 429, "rejected"), "quota"],
  ["claude_code: no credits", claude("billing_error", 400), "quota"],
  ["claude_code: near a limit", claude("rate_limit", 429, "allowed_warning"), undefined],
  ["claude_code: status 429 of an API key", claude("rate_limit", 429), undefined],
  ["claude_code: an overloaded service", claude("server_error", 529, "rejected"), undefined],
  ["claude_code: a refused login", claude("authentication_failed", 401), undefined],
  ["opencode: no quota", opencode("You exceeded your current quota.", 429), "quota"],
  ["opencode: its code", opencode("No.", 429, '{"code":"insufficient_quota"}'), "quota"],
  ["opencode: no credits", opencode("Your credit balance is too low.", 402), "quota"],
  ["opencode: a message without status", opencode("Usage limit reached."), "quota"],
  ["opencode: status 429", opencode("Too many requests.", 429), undefined],
  ["opencode: a refused login that names billing", opencode("See billing.", 401), undefined],
  ["opencode: repeated calls, no quota", retried("Quota exceeded."), "quota"],
  ["opencode: repeated calls, rate limit", retried("Rate limited."), undefined],
  ["opencode: repeated calls, overloaded", retried("503 Overloaded"), undefined],
];

for (const [what, end, cause] of table) {
  test(`${what}: ${cause ?? "no used-up quota"}`, () => {
    assert.equal(end.outcome, "failed");
    assert.equal(end.cause, cause, end.reason);
  });
}
