// A few at a time: the database connections of a node are its callers' first of all, and however many
// blobs come and go at once, they hold no more of them than this.

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
      // A turn is handed on, not given back and taken again.
      const next = waiting.shift();
      if (next) next();
      else free++;
    }
  };
}
