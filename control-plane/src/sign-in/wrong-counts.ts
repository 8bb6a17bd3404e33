// Counts failed attempts of a period, by id, in the memory of this node.

export interface WrongCounts {
  /** Counts an attempt as wrong until it is known to be right. Returns how long to wait instead; 0 if it may be tried. */
  begin(id: string): number;
  /** The attempt was right. */
  undo(id: string): void;
}

/** Bounds the memory: once there are twice as many ids, the older half is dropped. */
const mostIds = 10_000;

export function createWrongCounts(
  { most, periodMs }: { most: number; periodMs: number },
  now: () => number = performance.now.bind(performance),
): WrongCounts {
  let counts = new Map<string, { since: number; wrong: number }>();
  let older = new Map<string, { since: number; wrong: number }>();
  const recent = (id: string) => {
    const found = counts.get(id) ?? older.get(id);
    return found && now() - found.since < periodMs ? found : undefined;
  };
  return {
    begin(id) {
      const found = recent(id) ?? { since: now(), wrong: 0 };
      if (found.wrong >= most) return found.since + periodMs - now();
      found.wrong += 1;
      if (!counts.has(id) && counts.size >= mostIds) {
        older = counts;
        counts = new Map();
      }
      counts.set(id, found);
      return 0;
    },
    undo(id) {
      const found = recent(id);
      if (found) found.wrong -= 1;
    },
  };
}
