// Lets a number of pieces of work run at the same time, and the others wait in their order.

export type Turnstile = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function createTurnstile(most: number): Turnstile {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= most) await new Promise<void>((resolve) => waiting.push(resolve));
    else running++;
    try {
      return await work();
    } finally {
      // The place goes to the next one directly, so that no other takes it in between.
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
