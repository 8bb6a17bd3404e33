// The largest value that a number had in the last minutes. When a NATS server dies, an edge has no links
// any more, and its hosts are about to return.

/** Returns a function that notes the present value, and returns the largest of the last one to two periods. */
export function createRecentMost(
  periodMs: number,
  now: () => number = performance.now.bind(performance),
): (value: number) => number {
  let since = now();
  let previous = 0;
  let most = 0;
  return (value) => {
    if (now() - since >= periodMs) {
      // The value lasted until it is noted again, so `most` is of the period that ends now.
      previous = most;
      most = value;
      since = now();
    }
    most = Math.max(most, value);
    return Math.max(previous, most);
  };
}
