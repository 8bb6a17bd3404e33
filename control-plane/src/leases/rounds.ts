// Repeats the parts of a sweep, each by itself: one that fails or takes long must not keep the others from their
// work.
import type { Log } from "../log.ts";

type Part = () => Promise<unknown>;

export interface Rounds {
  /** Begins no further round, and waits a moment for the work that is under way. */
  close(underWay: Promise<unknown>): Promise<void>;
}

/** Nodes sweep at different moments, so that most of the work is found by one of them. */
const jitter = 0.25;
const longestCloseMs = 2_000;

/** `name`: what the sweep is about, for the log. `everyMs`: the pause after each run of a part. */
export function startRounds(
  name: string,
  parts: readonly Part[],
  log: Log,
  everyMs = 1_000,
): Rounds {
  let isClosed = false;
  const timers = new Map<Part, NodeJS.Timeout>();
  for (const part of parts) again(part);

  function again(part: Part): void {
    if (isClosed) return;
    const waitMs = everyMs * (1 + Math.random() * jitter);
    timers.set(
      part,
      setTimeout(() => void round(part), waitMs),
    );
  }

  async function round(part: Part): Promise<void> {
    try {
      await part();
    } catch (error) {
      log.warn({ err: error }, `the sweep of ${name} failed`);
    }
    again(part);
  }

  return {
    async close(underWay) {
      isClosed = true;
      for (const timer of timers.values()) clearTimeout(timer);
      const patience = new Promise((resolve) => setTimeout(resolve, longestCloseMs).unref());
      await Promise.race([underWay, patience]);
    },
  };
}
