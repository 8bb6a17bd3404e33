// Runs the work on one account one after the other.

/** Each name has a line of its own. */
export function createLines() {
  const lines = new Map<string, Promise<void>>();
  return async function inLine<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
    const before = lines.get(name);
    const { promise: done, resolve } = Promise.withResolvers<void>();
    lines.set(name, done);
    try {
      await before;
      return await work();
    } finally {
      resolve();
      if (lines.get(name) === done) lines.delete(name);
    }
  };
}
