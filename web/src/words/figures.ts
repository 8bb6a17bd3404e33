// Durations, money and sizes as people read them.
import { words } from "./words.ts";

export function duration(ms: number): string {
  const seconds = ms / 1000;
  if (seconds < 9.95) return words("figure.seconds", { n: seconds.toFixed(1) });
  const whole = Math.round(seconds);
  if (whole < 60) return words("figure.seconds", { n: whole });
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return words("figure.minutes", { m: minutes, s: whole % 60 });
  return words("figure.hours", { h: Math.floor(minutes / 60), m: minutes % 60 });
}

/** How long something has lasted, in its largest unit: "4 min". */
export function span(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 1) return words("span.seconds", { n: Math.max(0, Math.floor(ms / 1000)) });
  if (minutes < 60) return words("span.minutes", { n: minutes });
  const hours = Math.floor(minutes / 60);
  return hours < 24
    ? words("span.hours", { n: hours })
    : words("span.days", { n: Math.floor(hours / 24) });
}

/** US dollars; an estimate says that it is one. */
export function money(usd: number, isEstimate: boolean): string {
  const digits = usd > 0 && usd < 0.005 ? 4 : 2;
  return `${isEstimate ? "≈ " : ""}$${usd.toFixed(digits)}`;
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(0)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Such as 09:41, in the zone of the person's device. */
export function clock(at: string | number): string {
  return new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
}
