// How often something went wrong lately, in this node's memory.

export interface WrongCounts {
  /** Counts an attempt as wrong until it is known to be right. Returns how long to wait instead; 0 if it may be tried. */
  begin(id: string): number;
  /** The attempt was right. */
  undo(id: string): void;
}

/** Of twice as many ids, those that were counted longest ago are forgotten. */
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
