// How long a login still lasts, in words. From five days before its end it is a warning.
import { words } from "../../words/words.ts";

const day = 24 * 60 * 60_000;
const soonMs = 5 * day;

export interface Expiry {
  text: string;
  isWarning: boolean;
}

export function expiryOf(expiresAt: string, now: number): Expiry {
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return { text: words("account.expired"), isWarning: true };
  const isWarning = left <= soonMs;
  const n = Math.floor(left / day);
  const text = n === 0 ? words("account.expires_today") : words("account.expires", { n });
  return { text, isWarning };
}
