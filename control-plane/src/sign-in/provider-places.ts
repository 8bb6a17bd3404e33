// How many requests to a provider run at once. Strangers can begin sign-ins, and a provider that answers slowly must
// neither occupy the node nor delay the people of other organizations.
import { Refusal } from "@hawser/contract";

export interface ProviderPlaces {
  /** Throws `rate_limited` if too many run for this organization. */
  run<T>(organizationId: string, work: () => Promise<T>): Promise<T>;
}

export function createProviderPlaces(most = 20): ProviderPlaces {
  const running = new Map<string, number>();
  return {
    async run(organizationId, work) {
      const before = running.get(organizationId) ?? 0;
      if (before >= most) {
        throw new Refusal(
          "rate_limited",
          "Too many people are signing in with this provider right now. Try again in a moment.",
          { retryAfterMs: 2_000 },
        );
      }
      running.set(organizationId, before + 1);
      try {
        return await work();
      } finally {
        const left = running.get(organizationId)! - 1;
        if (left > 0) running.set(organizationId, left);
        else running.delete(organizationId);
      }
    },
  };
}
