// Ends of turns that failed because of the model's service, with sentences: what happened, what to do, and the
// agent's own message. Each kind translates its agent's errors into a ModelFailure (its failures.ts); the
// words are the same for every kind.
import type { TurnEnd } from "./driver.ts";

export type ModelFailure =
  | "login_refused"
  | "model_unknown"
  | "rate_limited"
  | "usage_limit"
  | "overloaded"
  | "unreachable"
  | "too_long"
  | "request_refused";

export interface AgentWords {
  name: string;
  /** Shell command that logs in to the model's service. */
  loginCommand: string;
  /** Slash command that condenses the history. undefined if a session that is too long cannot go on. */
  condenseCommand?: string;
}

interface Details {
  /** HTTP status that the model's service answered with. */
  status?: number | undefined;
  /** When a rate limit ends, in milliseconds since 1970. */
  resetsAt?: number | undefined;
}

const longestQuote = 300;

export interface FailedTurn extends TurnEnd {
  outcome: "failed";
  reason: string;
}

/** The end of a turn that failed for this reason. */
export function failedTurn(reason: string, failure?: ModelFailure): FailedTurn {
  const cause = failure === "usage_limit" ? { cause: "quota" as const } : {};
  return { outcome: "failed", reason, ...cause };
}

/** An undefined failure has no known cause: the agent's message is all there is. */
export function explainFailure(
  agent: AgentWords,
  failure: ModelFailure | undefined,
  message: string,
  details: Details = {},
): FailedTurn {
  const reason = failure
    ? `${describeFailure(agent, failure, details)} ${quote(agent, message)}`
    : `The turn failed. ${quote(agent, message)} Prompt again.`;
  return failedTurn(reason, failure);
}

/** What happened and what to do, without the agent's message. */
export function describeFailure(
  agent: AgentWords,
  failure: ModelFailure,
  details: Details = {},
): string {
  return sentences[failure](agent, details);
}

const sentences: Record<ModelFailure, (agent: AgentWords, details: Details) => string> = {
  login_refused: ({ loginCommand }) =>
    `The model's service refused the host's login or key. Log in on the host with \`${loginCommand}\`, or correct the key, then prompt again.`,
  model_unknown: () =>
    "The model's service does not have this model. Choose another one from list_models.",
  rate_limited: (_, { resetsAt }) =>
    `The model's service accepts no more requests for now (rate limit). Prompt again ${after(resetsAt) ?? "in a few minutes"}, or choose another model.`,
  usage_limit(_, { resetsAt }) {
    const when = after(resetsAt);
    const advice = when
      ? `Prompt again ${when}, or choose another model or agent.`
      : "Wait until the limit is reset, or choose another model or agent, then prompt again.";
    return `The account has reached its usage limit. ${advice}`;
  },
  overloaded(_, { status }) {
    const code = status === undefined ? "" : ` (${status})`;
    return `The model's service is overloaded or has a fault${code}. Prompt again in a few minutes.`;
  },
  unreachable: () =>
    "The model's service cannot be reached from this host. Check the host's network and proxy and the service's address, then prompt again.",
  too_long({ condenseCommand }) {
    const condense = condenseCommand ? `Run the command ${condenseCommand}, or start` : "Start";
    return `The conversation is too long for the model. ${condense} a new session.`;
  },
  request_refused: () =>
    "The model's service refused the request. Try another model, or start a new session.",
};

const after = (resetsAt: number | undefined) =>
  resetsAt ? `after ${new Date(resetsAt).toISOString().slice(0, 19)}Z` : undefined;

/** The first line of an agent's message. */
export function quote({ name }: AgentWords, message: string): string {
  return `${name} says: ${message.split("\n")[0]!.slice(0, longestQuote)}`;
}

export function failureOfStatus(status: number): ModelFailure {
  if (status === 401 || status === 403) return "login_refused";
  if (status === 404) return "model_unknown";
  if (status === 413) return "too_long";
  if (status === 429) return "rate_limited";
  return status >= 500 ? "overloaded" : "request_refused";
}

export function explainSilence(quietMs: number): FailedTurn {
  const seconds = Math.round(quietMs / 1000);
  return failedTurn(
    `The model said nothing for ${seconds} seconds, so the turn was stopped. Check the host's network and the model's service, then prompt again.`,
  );
}
