// A token bucket per key, in this node's memory. A key has `burst` tokens, regains `perSecond`, and
// pays one per call, or more for an expensive one. Both numbers are divided among the live nodes, so no row is written per call.

export interface RateLimit {
  perSecond: number;
  burst: number;
}

/** This node's share of the limit, and the key's remaining tokens. */
export interface RateState extends RateLimit {
  remaining: number;
  /** Set if too few tokens were left: the time until there are enough. */
  retryAfterMs?: number;
}

export interface TokenBuckets {
  /** Uses `cost` tokens, 1 by default, if there are as many. */
  take(key: string, cost?: number): RateState;
  /** How many nodes share the limit. */
  share(nodes: number): void;
}

export function createTokenBuckets(
  limit: RateLimit,
  now: () => number = performance.now.bind(performance),
): TokenBuckets {
  let perMs = limit.perSecond / 1000;
  let burst = limit.burst;
  let buckets = new Map<string, { tokens: number; at: number }>();
  let sweepAt = now() + 60_000;

  /** Drops full buckets, which contain no information. */
  function sweep(at: number) {
    buckets = new Map(
      [...buckets].filter(([, bucket]) => bucket.tokens + (at - bucket.at) * perMs < burst),
    );
    sweepAt = at + 60_000;
  }

  return {
    take(key, cost = 1) {
      const at = now();
      if (at > sweepAt) sweep(at);
      let bucket = buckets.get(key);
      if (!bucket) buckets.set(key, (bucket = { tokens: burst, at }));
      bucket.tokens = Math.min(burst, bucket.tokens + (at - bucket.at) * perMs);
      bucket.at = at;
      const share = { perSecond: perMs * 1000, burst };
      if (bucket.tokens < cost) {
        return { ...share, remaining: 0, retryAfterMs: Math.ceil((cost - bucket.tokens) / perMs) };
      }
      bucket.tokens -= cost;
      return { ...share, remaining: bucket.tokens };
    },
    share(nodes) {
      perMs = limit.perSecond / 1000 / nodes;
      burst = Math.max(1, limit.burst / nodes);
    },
  };
}
