// When a schedule runs next, from what a caller has sent and from what is stored.
import { Refusal } from "@hawser/contract";
import { nextRun, type Recurrence } from "./recurrence.ts";
import { instantOf } from "./wall-clock.ts";

/** The instant of a `startAt`, which is in the organization's time zone if it has no offset. */
export function readStart(text: string, timeZone: string): Date {
  const hasOffset = /(?:Z|[+-]\d\d:\d\d)$/.test(text);
  const start = hasOffset
    ? new Date(text)
    : new Date(instantOf(timeZone, new Date(`${text}Z`).getTime()));
  const year = start.getUTCFullYear();
  // The time zone can move the instant beyond the years that records can show.
  if (year >= 1 && year <= 9999) return start;
  throw new Refusal("invalid_input", "The start must be in the years 1 to 9999 of UTC.", {
    fields: [{ field: "startAt", message: "must be in the years 1 to 9999 of UTC" }],
  });
}

/**
 * The first run of a schedule that is created, resumed, or has new times; null if there is none. Times that have
 * passed are left out, but a schedule that runs once is due at once, unless it `hasRun`.
 */
export function firstRun(rule: Recurrence, now: Date, hasRun: boolean): Date | null {
  if (rule.startAt >= now) return rule.startAt;
  if (rule.frequency !== "never") return nextRun(rule, now);
  return hasRun ? null : now;
}

/** A run and the ones that follow it, at most `most`. */
export function runsFrom(rule: Recurrence, first: Date | null, most: number): Date[] {
  const runs: Date[] = [];
  for (let run = first; run !== null && runs.length < most; run = nextRun(rule, run)) {
    runs.push(run);
  }
  return runs;
}
