// Cuts the traffic of exposures that have ended (N21): whatever ended them, and also if the database does not answer
// for a while. One query checks all exposures that are in use at this node.
import type { Log } from "../log.ts";

export interface ExposureWatch {
  start(): void;
  close(): void;
}

export interface WatchParts {
  /** The exposures that are in use here, and when they expire; undefined if that is not known here. */
  inUse: () => Map<string, number | undefined>;
  /** Which of these exposures may be used. */
  stillGood: (exposureIds: string[]) => Promise<Set<string>>;
  cut: (exposureId: string) => void;
  now: () => number;
  log: Log;
  timing?: { everyMs: number; unansweredMs: number };
}

/** Traffic must end within a second, so the query has half a second to answer. */
const standardTiming = { everyMs: 500, unansweredMs: 5_000 };

export function createExposureWatch(parts: WatchParts): ExposureWatch {
  const { inUse, stillGood, cut, now, log, timing = standardTiming } = parts;
  /** When each exposure was last known to be good. */
  let goodAt = new Map<string, number>();
  const expiries = new Set<NodeJS.Timeout>();
  let timer: NodeJS.Timeout | undefined;
  /** When the running check began. One at a time, unless the database has left one without an answer for too long. */
  let checkingSince: number | undefined;

  async function check(ids: string[]): Promise<void> {
    const askedAt = performance.now();
    checkingSince = askedAt;
    try {
      const good = await stillGood(ids);
      for (const id of ids) {
        if (good.has(id)) goodAt.set(id, askedAt);
        else cut(id);
      }
    } catch (error) {
      log.warn({ err: error }, "exposures in use could not be checked");
    } finally {
      if (checkingSince === askedAt) checkingSince = undefined;
    }
  }

  function cutAt(exposureId: string, expiresAt: number): void {
    const expiry = setTimeout(
      () => {
        expiries.delete(expiry);
        cut(exposureId);
      },
      Math.max(0, expiresAt - now()),
    );
    expiries.add(expiry);
  }

  function tick(): void {
    const used = inUse();
    const at = performance.now();
    // An exposure that was not in use at the last tick was checked when its first request came.
    goodAt = new Map([...used.keys()].map((id) => [id, goodAt.get(id) ?? at]));
    for (const [id, expiresAt] of used) {
      if (expiresAt !== undefined && expiresAt - now() <= timing.everyMs) cutAt(id, expiresAt);
      if (at - goodAt.get(id)! > timing.unansweredMs) {
        log.warn({ exposureId: id }, "an exposure was cut, because it could not be checked");
        cut(id);
      }
    }
    const isChecking = checkingSince !== undefined && at - checkingSince < timing.unansweredMs;
    if (used.size > 0 && !isChecking) void check([...used.keys()]);
  }

  return {
    start() {
      timer ??= setInterval(tick, timing.everyMs);
    },
    close() {
      clearInterval(timer);
      for (const expiry of expiries) clearTimeout(expiry);
    },
  };
}
