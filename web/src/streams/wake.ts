// Moments at which a broken stream should connect at once: the machine woke up, the network is back, or the page is
// looked at again.

export interface Wake {
  /** The network or the machine was away, so an open connection may be dead without the browser knowing. */
  isSuspect: boolean;
}

/** Calls `onWake` at each such moment until the returned function is called. */
export type WatchWake = (onWake: (wake: Wake) => void) => () => void;

export interface WakeSources {
  window: EventTarget;
  document: EventTarget & { visibilityState: string };
  now: () => number;
  tickMs?: number;
}

/** A tick that is this much too late shows that the machine slept. */
const sleptMs = 15_000;

export function createWatchWake({ window, document, now, tickMs = 5_000 }: WakeSources): WatchWake {
  return (onWake) => {
    const ended = new AbortController();
    const { signal } = ended;
    const suspect = () => onWake({ isSuspect: true });
    const looked = () => {
      if (document.visibilityState === "visible") onWake({ isSuspect: false });
    };
    window.addEventListener("online", suspect, { signal });
    // A page that comes back from the browser's cache has lost its connections.
    window.addEventListener("pageshow", suspect, { signal });
    window.addEventListener("focus", looked, { signal });
    document.addEventListener("visibilitychange", looked, { signal });
    // Timers stop while a machine sleeps, and no event says that it woke up.
    let tickedAt = now();
    const timer = setInterval(() => {
      const sinceMs = now() - tickedAt;
      tickedAt = now();
      if (sinceMs > sleptMs) suspect();
    }, tickMs);
    return () => {
      clearInterval(timer);
      ended.abort();
    };
  };
}
