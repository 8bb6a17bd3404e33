// Waits until the browser is idle, for code that the first paint does not need.

const latestMs = 1_000;

/** Resolves when the browser has nothing to do, and after a second at the latest. */
export function idle(): Promise<void> {
  return new Promise((resolve) => {
    // Safari has none.
    if (typeof globalThis.requestIdleCallback !== "function") setTimeout(resolve, latestMs / 5);
    else requestIdleCallback(() => resolve(), { timeout: latestMs });
  });
}
