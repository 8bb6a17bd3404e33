// Challenges that a browser has to answer. The browser itself keeps them, sealed: strangers may begin as many sign-ins
// as they like, and the database must not store each.
import { createHmac, timingSafeEqual } from "node:crypto";

/** A sign-in's challenge is no registration's. */
export type Purpose = "passkey" | "new_passkey";

export interface Challenges {
  /** The text of a cookie. */
  seal(purpose: Purpose, challenge: string, seconds: number): string;
  /** The challenge; undefined if the text is not good, or is too old. */
  open(purpose: Purpose, sealed: string): string | undefined;
}

export function createChallenges(secret: Buffer, now: () => number): Challenges {
  const sealOf = (text: string) =>
    createHmac("sha256", secret).update(`challenge\n${text}`).digest("base64url");
  return {
    seal(purpose, challenge, seconds) {
      const text = `${purpose}.${challenge}.${now() + seconds * 1000}`;
      return `${text}.${sealOf(text)}`;
    },
    open(purpose, sealed) {
      const end = sealed.lastIndexOf(".");
      const text = sealed.slice(0, Math.max(end, 0));
      const given = Buffer.from(sealed.slice(end + 1));
      const wanted = Buffer.from(sealOf(text));
      if (given.length !== wanted.length || !timingSafeEqual(given, wanted)) return undefined;
      const [sealedFor, challenge, until] = text.split(".");
      return sealedFor === purpose && Number(until) > now() ? challenge : undefined;
    },
  };
}
