// How long the oldest unfinished item of each kind of work has waited. Metrics show it.

export interface QueueAges {
  /** Counts the work from now until its promise settles. Returns the promise's outcome. */
  track<Result>(queue: string, work: Promise<Result>): Promise<Result>;
  /** Seconds by queue; 0 if the queue is empty. */
  read(): Map<string, number>;
}

/** `now` is in milliseconds, as `performance.now()`. */
export function createQueueAges(now: () => number = performance.now.bind(performance)): QueueAges {
  /** Begins of unfinished work. A Set keeps the order in which items were added. */
  const queues = new Map<string, Set<{ begunAt: number }>>();
  return {
    track(queue, work) {
      const unfinished = queues.get(queue) ?? new Set();
      queues.set(queue, unfinished);
      const item = { begunAt: now() };
      unfinished.add(item);
      return work.finally(() => unfinished.delete(item));
    },
    read() {
      const ages = [...queues].map(([queue, unfinished]): [string, number] => {
        const [oldest] = unfinished;
        return [queue, oldest ? (now() - oldest.begunAt) / 1000 : 0];
      });
      return new Map(ages);
    },
  };
}
