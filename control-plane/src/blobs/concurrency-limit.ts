// Limits how many database connections blobs use at once. A node's connections are there for its
// callers first, however many blobs are transferred.

export type ConcurrencyLimit = <T>(work: () => Promise<T>) => Promise<T>;

export function createConcurrencyLimit(most: number): ConcurrencyLimit {
  let free = most;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free--;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Pass the slot on to the next one, instead of freeing it and acquiring it again.
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
