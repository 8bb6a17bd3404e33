// A promise that was not kept, with what of the history shows it; and comparing what JSON keeps.

export interface Violation {
  rule: string;
  /** What of the history shows it. */
  lines: string[];
}

export const violation = (rule: string, ...about: unknown[]): Violation => ({
  rule,
  lines: about.map((each) =>
    (typeof each === "string" ? each : (JSON.stringify(each) ?? "nothing")).slice(0, 2_000),
  ),
});

export function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}

/** Keys in order, because PostgreSQL does not keep theirs. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
