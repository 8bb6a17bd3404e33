// Decides whether a request may use an exposure. Unknown, expired and revoked exposures and wrong passwords get the same
// answer after the same work and the same time (N19), and guessing is slowed down (T24).
import { createHash, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { OpenExposure } from "./open-exposure.ts";
import { createThrottle, type Throttle } from "./throttle.ts";

/** Why a request may not use the exposure. Wrong has the exposure if there is one; no answer may depend on it. */
export type Denied =
  | { denied: "no password" }
  | { denied: "wrong"; exposure: OpenExposure | undefined }
  | { denied: "locked"; lockedMs: number };

export interface Credentials {
  /** Throws if exposures cannot be looked up right now. */
  check(
    exposureId: string | undefined,
    authorization: string | undefined,
    address: string,
  ): Promise<OpenExposure | Denied>;
  /** The next request looks the exposure up again. */
  forget(exposureId: string): void;
}

export interface CredentialParts {
  username: string;
  find: (exposureId: string) => Promise<OpenExposure | undefined>;
  now: () => number;
  throttle?: Throttle;
}

/** A right password is looked up again after this time, so a revoked exposure takes no new request after it. */
const trustedMs = 250;
const mostTrusted = 10_000;
/** The answer to a wrong password comes after this time, however long the look-up took. */
const wrongAnswerMs = 50;
const emptyHash = Buffer.alloc(32);

const sha256 = (text: string) => createHash("sha256").update(text).digest();

export function createCredentials(parts: CredentialParts): Credentials {
  const { find, now, throttle = createThrottle() } = parts;
  const rightName = sha256(parts.username);
  /** Right passwords, by a digest of exposure and header. Wrong ones are looked up each time, as unknown exposures are. */
  const trusted = new Map<string, { exposure: OpenExposure; until: number }>();
  const checking = new Map<string, Promise<OpenExposure | Denied>>();

  const look = async (exposureId: string | undefined) =>
    exposureId === undefined ? undefined : find(exposureId);

  async function checkPassword(
    exposureId: string | undefined,
    { name, password }: { name: string; password: string },
    address: string,
  ): Promise<OpenExposure | Denied> {
    const attempt = throttle.begin(exposureId ?? "", address);
    if ("lockedMs" in attempt) return { denied: "locked", lockedMs: attempt.lockedMs };
    if (attempt.delayMs > 0) await pause(attempt.delayMs);
    const answerAt = performance.now() + wrongAnswerMs;
    const exposure = await look(exposureId).catch((error: unknown) => {
      // Not the client's failure.
      attempt.passed();
      throw error;
    });
    const isRightName = timingSafeEqual(sha256(name), rightName);
    const isRight = timingSafeEqual(sha256(password), exposure?.passwordHash ?? emptyHash);
    if (exposure && isRight && isRightName && exposure.expiresAt > now()) {
      attempt.passed();
      return exposure;
    }
    await pause(Math.max(1, answerAt - performance.now()));
    return { denied: "wrong", exposure };
  }

  return {
    async check(exposureId, authorization, address) {
      const login = readBasic(authorization);
      if (!login) return { denied: "no password" };
      const lockedMs = throttle.lockedMs(address);
      if (lockedMs > 0) return { denied: "locked", lockedMs };
      const key = sha256(`${exposureId ?? ""}\n${authorization}`).toString("base64");
      const known = trusted.get(key);
      if (known && performance.now() < known.until && known.exposure.expiresAt > now()) {
        return known.exposure;
      }
      trusted.delete(key);
      // Requests that come together share a look-up. A wrong password is counted once for them.
      let check = checking.get(key);
      if (!check) {
        check = checkPassword(exposureId, login, address).finally(() => checking.delete(key));
        checking.set(key, check);
        const result = await check;
        if (!("denied" in result)) {
          if (trusted.size >= mostTrusted) trusted.clear();
          trusted.set(key, { exposure: result, until: performance.now() + trustedMs });
        }
      }
      return check;
    },
    forget(exposureId) {
      for (const [key, { exposure }] of trusted) {
        if (exposure.exposureId === exposureId) trusted.delete(key);
      }
    },
  };
}

/** undefined if the header is missing or is no Basic login. */
function readBasic(
  authorization: string | undefined,
): { name: string; password: string } | undefined {
  const [, encoded] = /^basic +([\w+/-]+=*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString();
  const at = text.indexOf(":");
  return at < 0 ? undefined : { name: text.slice(0, at), password: text.slice(at + 1) };
}
