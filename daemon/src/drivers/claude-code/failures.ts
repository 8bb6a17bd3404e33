// Why a turn failed, as a sentence for whoever prompted, and what to do about it. Claude Code's own words
// come after it where they say more.
import type { RateLimit, Result, SystemMessage } from "./messages.ts";

export function reasonOf(
  { api_error_status: status, result, errors, subtype }: Result,
  error: string | undefined,
  limit: RateLimit | undefined,
): string {
  const said = (result ?? errors?.join(" ") ?? "").trim() || subtype;
  const own = `Claude Code says: ${said}`;
  if (/Not logged in/i.test(said)) {
    return `Claude Code is not logged in on this host. Log in, then prompt again. ${own}`;
  }
  if (status === 401 || status === 403 || error === "authentication_failed") {
    return `The model's service refused Claude Code's login. Log in again on this host, or set a valid key. ${own}`;
  }
  if (status === 429 || error === "rate_limit") return `${limitSentence(limit?.resetsAt)} ${own}`;
  if (/\b529\b|overloaded/i.test(said)) {
    return `The model's service is overloaded. Prompt again in a few minutes. ${own}`;
  }
  if (status && status >= 500) {
    return `The model's service has a fault (${status}). Prompt again later. ${own}`;
  }
  if (/Unable to connect|timed out|ECONN|ENOTFOUND/i.test(said)) {
    return `The model's service cannot be reached from this host. Check its network and proxy, then prompt again. ${own}`;
  }
  if (status === 413 || /prompt is too long/i.test(said)) {
    return `The conversation is too long for the model. Run its command compact, or start a new session. ${own}`;
  }
  return own;
}

/** Waits longer than this are not sat out. */
const longestWaitMs = 20_000;

/** Why a turn must not wait for the next try; nothing when it may. */
export function reasonToStop({ retry_delay_ms: wait = 0, ...retry }: SystemMessage) {
  if (wait <= longestWaitMs) return undefined;
  const seconds = Math.ceil(wait / 1000);
  if (retry.error_status === 429 || retry.error === "rate_limit") {
    return limitSentence((Date.now() + wait) / 1000);
  }
  return `The model's service asks to wait ${seconds} seconds (${retry.error_status ?? retry.error ?? "no answer"}). Prompt again after that.`;
}

function limitSentence(resetsAt: number | undefined): string {
  const when = resetsAt
    ? `after ${new Date(resetsAt * 1000).toISOString().slice(0, 19)}Z`
    : "in a few minutes";
  return `The model's service has refused more requests for now (rate limit). Prompt again ${when}, or choose another model.`;
}

export const silenceReason = (ms: number) =>
  `The model said nothing for ${Math.round(ms / 1000)} seconds, so the turn was stopped. Check the host's network and the model's service, then prompt again.`;
