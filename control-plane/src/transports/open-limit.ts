// Limits what one API key and its organization have open at once on this node: bytes of unanswered
// calls, or streams. Counted in memory, so that a call costs no query (decision 0031).
import { Refusal } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";

export type Holder = "key" | "organization";

export interface OpenLimits {
  ofKey: number;
  ofOrganization: number;
  refuse: (holder: Holder) => Refusal;
}

/** Adds an amount to what is open; returns the refusal instead if that exceeds a limit. */
export type Hold = (amount: number) => Refusal | undefined;

export interface OpenLimit {
  /** Everything that is added counts until the response is over. */
  during(
    response: { closed: boolean; once(event: "close", done: () => void): unknown },
    caller: Pick<Caller, "apiKeyId" | "organizationId">,
  ): Hold;
}

export function createOpenLimit({ ofKey, ofOrganization, refuse }: OpenLimits): OpenLimit {
  const open = new Map<string, number>();
  const amountOf = (id: string) => open.get(id) ?? 0;
  const add = (id: string, amount: number) => {
    const sum = amountOf(id) + amount;
    if (sum > 0) open.set(id, sum);
    else open.delete(id);
  };
  return {
    during(response, { apiKeyId, organizationId }) {
      let held = 0;
      response.once("close", () => {
        add(apiKeyId, -held);
        add(organizationId, -held);
      });
      return (amount) => {
        // The caller has disconnected, and "close" comes only once.
        if (response.closed) return undefined;
        if (amountOf(apiKeyId) + amount > ofKey) return refuse("key");
        if (amountOf(organizationId) + amount > ofOrganization) return refuse("organization");
        held += amount;
        add(apiKeyId, amount);
        add(organizationId, amount);
        return undefined;
      };
    },
  };
}

/** Limits the open streams: of an organization's events, and of sessions. */
export function createStreamLimit(limits: Pick<OpenLimits, "ofKey" | "ofOrganization">): OpenLimit {
  return createOpenLimit({
    ...limits,
    refuse(holder) {
      const most = holder === "key" ? limits.ofKey : limits.ofOrganization;
      return new Refusal(
        "concurrency_limited",
        `This ${holder} has ${most} streams open, which is the limit. Close one, then open this one again.`,
        { retryAfterMs: 1000 },
      );
    },
  });
}
