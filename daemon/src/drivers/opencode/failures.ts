// Why a turn failed, as a sentence for whoever prompted, and what to do about it. opencode's own words come
// after it; of a call that it repeats they are all there is.
import type { ErrorData, Retry } from "./frames.ts";

const longest = 300;

const refused =
  "The model's service refused the host's login or key. Run `opencode auth login` on the host, or correct the key, then prompt again.";
const unknown =
  "The model's service does not have this model. Choose another one from list_models.";
const busy = "The model's service is overloaded or has a fault. Prompt again in a few minutes.";
const unreachable =
  "The model's service cannot be reached from this host. Check its network and the provider's address, then prompt again.";
const tooLong = "The conversation is too long for the model. Start a new session.";
const rejected = "The model's service refused the request. Try another model.";

export function explainFailure({ name, data }: ErrorData): string {
  const said = data?.message ?? name;
  if (name === "ProviderAuthError") return `${refused} ${quote(said)}`;
  if (name === "ContextOverflowError") return `${tooLong} ${quote(said)}`;
  const why = byStatus(data?.statusCode) ?? byWords(said);
  return why ? `${why} ${quote(said)}` : `${quote(said)} Prompt again.`;
}

export function explainRetries({ message, attempt, next }: Retry, now: number): string {
  const tries = attempt === 1 ? "once" : `${attempt} times`;
  const why =
    byWords(message) ?? "The model's service gave no whole answer. Prompt again in a few minutes.";
  const waited = why === limited() && next - now > longWaitMs ? limited(next) : why;
  return `${waited} It was asked ${tries}. ${quote(message)}`;
}

export function explainSilence(quietMs: number): string {
  const seconds = Math.round(quietMs / 1000);
  return `The model said nothing for ${seconds} seconds, so the turn was stopped. Check the host's network and the model's service, then prompt again.`;
}

/** Longer than opencode's own waits, so it is the service that named the time. */
const longWaitMs = 40_000;

const limited = (until?: number) => {
  const when = until ? `after ${new Date(until).toISOString().slice(0, 19)}Z` : "in a few minutes";
  return `The model's service has refused more requests for now (rate limit). Prompt again ${when}, or choose another model.`;
};

function byStatus(status: number | undefined): string | undefined {
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return refused;
  if (status === 404) return unknown;
  if (status === 413) return tooLong;
  if (status === 429) return limited();
  return status >= 500 ? busy : rejected;
}

const words: [RegExp, () => string][] = [
  [/\b429\b|rate.?limit|too many requests|quota|usage limit|usage exceeded/i, limited],
  [/connect|socket|network|ECONN|ENOTFOUND|timed? ?out|terminated|closed/i, () => unreachable],
  [/\b5\d\d\b|overloaded|unavailable|internal server error/i, () => busy],
];

function byWords(said: string): string | undefined {
  return words.find(([pattern]) => pattern.test(said))?.[1]();
}

const quote = (said: string) => `opencode says: ${said.split("\n")[0]!.slice(0, longest)}`;
