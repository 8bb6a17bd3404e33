// The times at which a schedule runs.
//
// All times are counted from the first one, so that a monthly run on the 31st returns to the 31st after a shorter
// month. Days, weeks and months keep the wall-clock time of the time zone; hours are 3,600 seconds each.
import type { Frequency } from "@hawser/contract";
import { instantOf, wallClockAt } from "./wall-clock.ts";

export interface Recurrence {
  readonly startAt: Date;
  readonly frequency: Frequency;
  /** The organization's. */
  readonly timeZone: string;
}

const hour = 3_600_000;
const day = 24 * hour;

/** Records write years with four digits. */
const endOfTime = Date.UTC(10_000, 0, 1);

/** The first time after an instant; null if there is none. */
export function nextRun(rule: Recurrence, after: Date): Date | null {
  return timeAt(rule, indexAfter(rule, after.getTime()));
}

/** The last time up to an instant, which is included; null if the first time is later. */
export function latestRun(rule: Recurrence, upTo: Date): Date | null {
  return timeAt(rule, indexAfter(rule, upTo.getTime()) - 1);
}

/** How many times are after one instant and up to another, which is included. */
export function countRuns(rule: Recurrence, after: Date, upTo: Date): number {
  return indexAfter(rule, upTo.getTime()) - indexAfter(rule, after.getTime());
}

function timeAt(rule: Recurrence, index: number): Date | null {
  if (index < 0 || (rule.frequency === "never" && index > 0)) return null;
  const instant = instantAt(rule, index);
  return instant >= endOfTime ? null : new Date(instant);
}

/** The smallest index whose time is after an instant. Index 0 is `startAt`. */
function indexAfter(rule: Recurrence, after: number): number {
  const start = rule.startAt.getTime();
  if (after < start) return 0;
  if (rule.frequency === "never") return 1;
  if (rule.frequency === "hourly") return Math.floor((after - start) / hour) + 1;
  // Clocks can skip or repeat up to a day, so the estimate can be too large.
  let index = Math.max(1, periodsBetween(rule, after) - 2);
  while (instantAt(rule, index) <= after) index += 1;
  return index;
}

/** About how many periods lie between the first time and an instant. */
function periodsBetween({ startAt, frequency, timeZone }: Recurrence, instant: number): number {
  const from = new Date(wallClockAt(timeZone, startAt.getTime()));
  const to = new Date(wallClockAt(timeZone, instant));
  if (frequency === "monthly") {
    return (
      (to.getUTCFullYear() - from.getUTCFullYear()) * 12 + to.getUTCMonth() - from.getUTCMonth()
    );
  }
  const days = Math.floor((to.getTime() - from.getTime()) / day);
  return frequency === "weekly" ? Math.floor(days / 7) : days;
}

function instantAt({ startAt, frequency, timeZone }: Recurrence, index: number): number {
  const start = startAt.getTime();
  // The first time is what the caller wrote, even if the clocks show it twice.
  if (index === 0) return start;
  if (frequency === "hourly") return start + index * hour;
  const wallClock = wallClockAt(timeZone, start);
  if (frequency === "monthly") return instantOf(timeZone, monthsLater(wallClock, index));
  return instantOf(timeZone, wallClock + index * (frequency === "weekly" ? 7 : 1) * day);
}

/** The same day and time in a later month, or that month's last day if it is shorter. */
function monthsLater(wallClock: number, months: number): number {
  const from = new Date(wallClock);
  const to = new Date(wallClock);
  to.setUTCDate(1);
  to.setUTCMonth(from.getUTCMonth() + months);
  const lastDay = new Date(to);
  lastDay.setUTCMonth(to.getUTCMonth() + 1, 0);
  to.setUTCDate(Math.min(from.getUTCDate(), lastDay.getUTCDate()));
  return to.getTime();
}
