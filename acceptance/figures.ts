// Prints the figures that a run has measured, and compares times with their goals.
import assert from "node:assert/strict";

/**
 * CI's machine does work for others too, and how much changes by the minute. There a time fails only if it
 * is far above its goal; `npm run acceptance` without CI judges the goals themselves.
 */
export const allowedTimesGoal = process.env.CI === undefined ? 1 : 3;

/** Prints the greatest and the median of some times. Fails if the greatest is above the goal. */
export function tellTimes(what: string, times: readonly number[], goalMs?: number): void {
  const sorted = times.toSorted((a, b) => a - b);
  const max = sorted.at(-1) ?? 0;
  const p50 = sorted[Math.floor(sorted.length / 2)] ?? 0;
  const goal = goalMs === undefined ? "" : `, goal ${seconds(goalMs)}`;
  const text = `${what}: max ${seconds(max)}, p50 ${seconds(p50)}, over ${sorted.length}${goal}`;
  tell(text);
  if (goalMs !== undefined) assert.ok(max < goalMs * allowedTimesGoal, text);
}

export function tell(text: string): void {
  console.log(`figure: ${text}`);
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(3)} s`;
