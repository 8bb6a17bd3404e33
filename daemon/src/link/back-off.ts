// How long to wait before the next attempt: a random time up to a limit that doubles, so that many hosts
// that lost the same server do not come back at the same moment.

export interface BackOff {
  firstMs: number;
  longestMs: number;
  /** Limit for the first few attempts: an outage of minutes must not cost minutes more. */
  early?: { longestMs: number; tries: number };
}

/** `failures` counts from 1. */
export function backOff(failures: number, { firstMs, longestMs, early }: BackOff): number {
  const isEarly = early !== undefined && failures <= early.tries;
  const doublings = isEarly || !early ? failures - 1 : failures - early.tries + 3;
  const limit = isEarly ? early.longestMs : longestMs;
  return Math.random() * Math.min(limit, firstMs * 2 ** Math.min(doublings, 30));
}
