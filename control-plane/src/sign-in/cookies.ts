// The cookies of a browser. The prefix __Host- binds a cookie to this host name and to https; browsers accept it
// over http from this machine's own loopback addresses.
import { createHmac, timingSafeEqual } from "node:crypto";

/** Names the sign-in. */
export const sessionCookie = "__Host-hawser_session";
/** Shows that the person of an account has signed in with this browser before. */
const knownCookie = "__Host-hawser_known";

/** Has what a sign-in with a provider needs when the browser comes back. */
export const stateCookie = "__Host-hawser_state";

/** Has the challenge that this browser has to answer. */
export const attemptCookie = "__Host-hawser_attempt";

/** Shows that this browser has opened the link with which its person lets it in. */
export const phoneCookie = "__Host-hawser_phone";

const knownDays = 365;
const daySeconds = 86_400;

/** The value of a cookie; undefined if it is missing or was sent twice. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const values = (header ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  return values.length === 1 ? values[0] : undefined;
}

export function sessionCookieOf(token: string, days: number): string {
  return cookie(sessionCookie, token, days * daySeconds);
}

export function attemptCookieOf(token: string, seconds: number): string {
  return cookie(attemptCookie, token, seconds);
}

export function stateCookieOf(sealed: string, seconds: number): string {
  return cookie(stateCookie, sealed, seconds);
}

export const noStateCookie = cookie(stateCookie, "", 0);
export function phoneCookieOf(token: string, seconds: number): string {
  return cookie(phoneCookie, token, seconds);
}

export const noPhoneCookie = cookie(phoneCookie, "", 0);
export const noSessionCookie = cookie(sessionCookie, "", 0);

/** Recognizes browsers in which a person has signed in. Somebody who guesses the person's password has none. */
export function createKnownBrowsers(secret: Buffer) {
  const proof = (userId: string) =>
    createHmac("sha256", secret).update(`known browser\n${userId}`).digest("base64url");
  return {
    cookieOf: (userId: string) => cookie(knownCookie, proof(userId), knownDays * daySeconds),
    isKnown(header: string | undefined, userId: string): boolean {
      const given = Buffer.from(readCookie(header, knownCookie) ?? "");
      const wanted = Buffer.from(proof(userId));
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    },
  };
}
export type KnownBrowsers = ReturnType<typeof createKnownBrowsers>;

function cookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; Secure; SameSite=Lax`;
}
