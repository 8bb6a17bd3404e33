// Limits how many links an edge opens, per second and at once, so that a fleet that returns together does
// not slow down the hosts that are linked already. A host beyond the limit is refused before anything is
// verified, with the time at which there is room for it (decision 0044).
import { createTokenBuckets } from "../dispatch/token-bucket.ts";

export interface NewLinks {
  /**
   * Whether a link may be opened now. Uses nothing up, so a client without a valid token cannot exhaust it. Half
   * of the room is kept for links that are not `repeated`: hosts that open links all the time would otherwise
   * always be faster than a host that returns once, at the time it was given.
   */
  hasRoom(link?: { isRepeated: boolean }): boolean;
  /** Counts a link that is being opened. Call the returned function once the link is open, or has failed. */
  begin(): (isOpen: boolean) => void;
  /** Returns the wait of a host that is refused now. Each refused host gets a later time than the one before. */
  retryAfterSeconds(): number;
  /** Links per second that the edge can open: its limit, or what it reached lately if it was too slow. */
  rate(): number;
}

/** Bounds the wait, because requests that are not verified make it grow. */
const longestWaitMs = 60_000;
/** A rate that was measured longer ago says nothing about the edge of now. */
const measuredForMs = 3_600_000;
/** The measured rate is at least this share of the limit, whatever happened in one second. */
const leastShare = 0.1;

export function createNewLinks(
  perSecond: number,
  now: () => number = performance.now.bind(performance),
): NewLinks {
  const tokens = createTokenBuckets({ perSecond, burst: perSecond }, now);
  /** An edge that opens more than a second's worth of links at once does not keep up. */
  const mostOpening = perSecond;
  let opening = 0;
  /** When there is room for the next refused host. */
  let freeAt = 0;
  let second = startSecond();
  let measured: { rate: number; at: number } | undefined;

  function startSecond() {
    return { since: now(), opened: 0, hasFailed: false, wasSlow: false };
  }

  function rate(): number {
    const isFresh = measured !== undefined && now() - measured.at < measuredForMs;
    return isFresh ? measured!.rate : perSecond;
  }

  /** Measures the rate in seconds in which the edge was too slow. Its failures are not the edge's speed. */
  function measure(): void {
    const ms = now() - second.since;
    if (ms < 1_000) return;
    const { opened, hasFailed, wasSlow } = second;
    // A longer time contains a silence at its end.
    if (wasSlow && opened > 0 && !hasFailed && ms < 1_500) {
      const reached = Math.min(perSecond, Math.max(perSecond * leastShare, (opened / ms) * 1_000));
      measured = { rate: (rate() + reached) / 2, at: now() };
    }
    second = startSecond();
  }

  return {
    hasRoom({ isRepeated } = { isRepeated: false }) {
      measure();
      const kept = isRepeated ? Math.floor(perSecond / 2) : 0;
      // A cost of 0 reads the bucket.
      if (tokens.take("", 0).remaining < 1 + kept) return false;
      if (opening < mostOpening) return true;
      second.wasSlow = true;
      return false;
    },
    begin() {
      tokens.take("");
      opening += 1;
      return (isOpen) => {
        opening -= 1;
        measure();
        if (isOpen) second.opened += 1;
        else second.hasFailed = true;
      };
    },
    retryAfterSeconds() {
      const at = now();
      freeAt = Math.min(Math.max(freeAt, at) + 1_000 / rate(), at + longestWaitMs);
      const waitMs = freeAt - at;
      // Hosts that all get the longest wait must not return together.
      const share = waitMs < longestWaitMs ? 1 : 0.5 + Math.random() / 2;
      // Differences of times are not exact: 1000.0000001 ms are one second, and not two.
      return Math.ceil((waitMs * share - 0.001) / 1_000);
    },
    rate,
  };
}
