// How much of a login's quota is used, as the agent reported it. A period that has ended counts as unused.
export interface Period {
  /** Percent. */
  used: number;
  /** When the period ends, in milliseconds since 1970; null if unknown. */
  resetsAt: number | null;
}

export interface Quota {
  /** Reports of a period replace earlier ones of the same period. */
  note(period: string, report: Period): void;
  /** Percent of the fullest period; null if none is known. */
  read(): number | null;
  /** Another login may be in use. */
  forget(): void;
}

/** A period without a known end is forgotten after this time. */
const forgetMs = 5 * 3600_000;

export function createQuota(now: () => number = Date.now): Quota {
  const periods = new Map<string, Period & { at: number }>();
  return {
    note: (period, report) => void periods.set(period, { ...report, at: now() }),
    read() {
      const known = [...periods.values()].filter(
        ({ resetsAt, at }) => now() < (resetsAt ?? at + forgetMs),
      );
      return known.length === 0 ? null : Math.max(...known.map(({ used }) => used));
    },
    forget: () => periods.clear(),
  };
}
