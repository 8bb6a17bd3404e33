// The period of the session log that contains the entries of a session: the 28 days in which the session
// began. The database has one partition for each (migrations, hawser_period_start).

const dayMs = 86_400_000;
const periodMs = 28 * dayMs;
const firstPeriodAt = 4 * dayMs;
/** Each period has its own statement on each connection, so older ones share a statement. */
const mostPeriods = 40;

/** The lowest id of the period, and the lowest id of the next. Undefined if the period is not one of the last. */
export function periodOf(sessionId: string): { first: string; next: string } | undefined {
  // An id begins with its creation time in milliseconds.
  const bornAt = Number.parseInt(sessionId.slice(0, 8) + sessionId.slice(9, 13), 16);
  const startsAt = bornAt - ((bornAt - firstPeriodAt) % periodMs);
  const aheadMs = startsAt - Date.now();
  if (aheadMs > periodMs || aheadMs < -mostPeriods * periodMs) return undefined;
  return { first: lowestId(startsAt), next: lowestId(startsAt + periodMs) };
}

function lowestId(milliseconds: number): string {
  const hex = milliseconds.toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`;
}
