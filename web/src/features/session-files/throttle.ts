// Runs something soon after it is asked for, and never more often than once in a time.

export interface Throttle {
  ask: () => void;
  /** Drops what was asked for and has not run. */
  stop: () => void;
}

interface Clock {
  now: () => number;
  later: (ms: number, run: () => void) => () => void;
}

const browserClock: Clock = {
  now: () => performance.now(),
  later(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};

export function createThrottle(
  everyMs: number,
  run: () => void,
  { now, later }: Clock = browserClock,
): Throttle {
  let ranAt = -Infinity;
  let cancel: (() => void) | undefined;
  const go = () => {
    cancel = undefined;
    ranAt = now();
    run();
  };
  return {
    ask() {
      if (cancel) return;
      const wait = ranAt + everyMs - now();
      if (wait <= 0) go();
      else cancel = later(wait, go);
    },
    stop() {
      cancel?.();
      cancel = undefined;
    },
  };
}
