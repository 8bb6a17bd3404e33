// The answer of an edge that has no room right now, or of a proxy in front of it: when to dial again.

/** The edge refused the link for now. It chose the time so that not all hosts return together. */
export class EdgeBusy extends Error {
  /** How long to wait before the next attempt. */
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

/** Whatever the other side says, the host tries again after this. */
const longestMs = 300_000;
/** A header has whole seconds. Hosts that got the same number spread over one more. */
const spreadMs = 1_000;

/** Reads a header `Retry-After`. undefined unless it is a number of seconds. */
export function readRetryAfter(header: string | undefined): number | undefined {
  const seconds = /^\d+$/.test(header ?? "") ? Number(header) : 0;
  if (seconds === 0) return undefined;
  return Math.min(seconds * 1_000, longestMs) + Math.random() * spreadMs;
}
