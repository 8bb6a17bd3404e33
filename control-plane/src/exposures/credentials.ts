// Decides whether a request may use an exposure. Unknown, expired and revoked exposures and wrong passwords get the same
// answer after the same work and the same time (N19), and guessing is slowed down (T24).
import { createHash, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { OpenExposure } from "./open-exposure.ts";
import { hashPassword } from "./password-hash.ts";
import type { Throttle } from "./throttle.ts";

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

interface Login {
  name: string;
  password: string;
}

export interface CredentialParts {
  username: string;
  find: (exposureId: string) => Promise<OpenExposure | undefined>;
  /** Asked only if the password was right, so that wrong ones take the same time for every exposure. */
  mayUse: (exposure: OpenExposure) => Promise<boolean>;
  now: () => number;
  throttle: Throttle;
}

/** A right password is looked up again after this time, so a revoked exposure takes no new request after it. */
const trustedMs = 250;
const mostRight = 10_000;
/** The answer to a wrong password comes after a multiple of this time, so that the look-up's own time does not show. */
const wrongAnswerMs = 50;
const emptyHash = Buffer.alloc(32);

const sha256 = (text: string) => createHash("sha256").update(text).digest();

export function createCredentials(parts: CredentialParts): Credentials {
  const { find, mayUse, now, throttle } = parts;
  const rightName = sha256(parts.username);
  /** Right passwords, by a digest of exposure and header. Wrong ones are looked up each time, as unknown exposures are. */
  const right = new Map<string, { exposure: OpenExposure; until: number }>();
  const checking = new Map<string, Promise<OpenExposure | Denied>>();

  async function checkPassword(
    exposureId: string | undefined,
    login: Login,
    address: string,
  ): Promise<OpenExposure | Denied> {
    const attempt = await throttle.begin(exposureId ?? "", address);
    if ("lockedMs" in attempt) return { denied: "locked", lockedMs: attempt.lockedMs };
    let isWrong = false;
    try {
      if (attempt.delayMs > 0) await pause(attempt.delayMs);
      const found = await lookUp(exposureId, login);
      isWrong = "denied" in found;
      return found;
    } finally {
      attempt.end({ isWrong });
    }
  }

  async function lookUp(
    exposureId: string | undefined,
    { name, password }: Login,
  ): Promise<OpenExposure | Denied> {
    const startedAt = performance.now();
    const exposure = exposureId === undefined ? undefined : await find(exposureId);
    const isRightName = timingSafeEqual(sha256(name), rightName);
    const hash = hashPassword(password, exposure?.scope.kind ?? "instance");
    const isRight = timingSafeEqual(hash, exposure?.passwordHash ?? emptyHash);
    const isAdmitted = exposure && isRight && isRightName && exposure.expiresAt > now();
    if (isAdmitted && (await mayUse(exposure))) return exposure;
    const took = performance.now() - startedAt;
    await pause(wrongAnswerMs - (took % wrongAnswerMs));
    return { denied: "wrong", exposure };
  }

  return {
    async check(exposureId, authorization, address) {
      const login = readBasic(authorization);
      if (!login) return { denied: "no password" };
      const key = sha256(`${exposureId ?? ""}\n${authorization}`).toString("base64");
      const known = right.get(key);
      if (known && performance.now() < known.until && known.exposure.expiresAt > now()) {
        return known.exposure;
      }
      const lockedMs = known ? 0 : throttle.lockedMs(address);
      if (lockedMs > 0) return { denied: "locked", lockedMs };
      // Requests that come together share a look-up. A wrong password is counted once for them.
      let check = checking.get(key);
      if (!check) {
        // A login that was right is no guess: its user is not shut out with an address that others guess from.
        const checked = known
          ? lookUp(exposureId, login)
          : checkPassword(exposureId, login, address);
        check = checked.finally(() => checking.delete(key));
        checking.set(key, check);
        const result = await check;
        if ("denied" in result) right.delete(key);
        else {
          if (right.size >= mostRight) right.clear();
          right.set(key, { exposure: result, until: performance.now() + trustedMs });
        }
      }
      return check;
    },
    forget(exposureId) {
      for (const known of right.values()) {
        if (known.exposure.exposureId === exposureId) known.until = 0;
      }
    },
  };
}

/** undefined if the header is missing or is no Basic login. */
function readBasic(authorization: string | undefined): Login | undefined {
  const [, encoded] = /^basic +([\w+/-]+=*) *$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const text = Buffer.from(encoded, "base64").toString();
  const at = text.indexOf(":");
  return at < 0 ? undefined : { name: text.slice(0, at), password: text.slice(at + 1) };
}
