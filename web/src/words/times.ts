// Times as people read them: relative for a day, then the date.
import { words } from "./words.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

export function ago(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at));
  if (ms < 5_000) return words("time.now");
  if (ms < minute) return words("time.seconds", { n: Math.floor(ms / 1000) });
  if (ms < hour) return words("time.minutes", { n: Math.floor(ms / minute) });
  if (ms < day) return words("time.hours", { n: Math.floor(ms / hour) });
  return onDay(at);
}

/** Such as 25 Nov. */
export function onDay(at: string): string {
  return new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** "now", "4m", "3h", the weekday within a week, then the date. */
export function age(at: string, now: number): string {
  const ms = Math.max(0, now - Date.parse(at));
  if (ms < minute) return words("time.now");
  if (ms < hour) return words("age.minutes", { n: Math.floor(ms / minute) });
  if (ms < day) return words("age.hours", { n: Math.floor(ms / hour) });
  if (ms < 6 * day) return new Date(at).toLocaleDateString("en-GB", { weekday: "short" });
  return new Date(at).toLocaleDateString("en-GB", { day: "numeric", month: "short" });
}

/** For the hover: date, time and zone. */
export function exactly(at: string): string {
  return new Date(at).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "long" });
}
