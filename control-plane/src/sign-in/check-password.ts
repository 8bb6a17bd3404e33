// Checking a password. Only some wrong passwords of unknown browsers are accepted for an address in a period, from
// wherever they come. A browser in which the person has signed in before has a limit of its own, so nobody can lock
// the person out. An address without an account gets the same answers after the same work.
import { createHmac } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { Refusal } from "@hawser/contract";
import type { SystemDatabase } from "../postgres/database.ts";
import type { KnownBrowsers } from "./cookies.ts";
import type { Passwords } from "./password.ts";
import * as store from "./store.ts";
import { createWrongCounts } from "./wrong-counts.ts";

const periodMs = 15 * 60_000;
const mostWrong = 10;
const mostWrongOfKnown = 100;
/** No refusal comes sooner, so that guessing without pauses occupies the node less. */
const refusalMs = 500;

export interface PasswordAttempt {
  email: string;
  password: string;
  /** The Cookie header, by which a known browser is recognized. */
  cookies: string | undefined;
}

/** Returns the account. Throws `unauthenticated` if there is none, or if the password is wrong. */
export type CheckPassword = (attempt: PasswordAttempt) => Promise<store.AccountRow>;

export function createCheckPassword({
  accounts,
  passwords,
  known,
  secret,
}: {
  accounts: SystemDatabase;
  passwords: Passwords;
  known: KnownBrowsers;
  /** For the digests of addresses. */
  secret: Buffer;
}): CheckPassword {
  const { system } = accounts;
  const wrongOfKnown = createWrongCounts({ most: mostWrongOfKnown, periodMs });

  /** The same for each address, whether it has an account or not, so that counts do not show which have one. */
  const bucketOf = (email: string) =>
    createHmac("sha256", secret).update(`wrong passwords\n${email}`).digest().readUInt16BE(0);

  /** Counts an attempt as wrong before it is checked, so that guesses at the same time are no way around the limit. */
  async function begin(email: string, knownUser: string | undefined) {
    if (knownUser !== undefined) {
      const pauseMs = wrongOfKnown.begin(knownUser);
      return { pauseMs, undo: async () => wrongOfKnown.undo(knownUser) };
    }
    const bucket = bucketOf(email);
    const undo = () => system.rows(store.undoWrongPassword, bucket);
    const paused = await system.first(store.selectPause, bucket, periodMs, mostWrong);
    if (paused) return { pauseMs: paused.ms, undo };
    const isCounted = await system.first(store.countWrongPassword, bucket, periodMs, mostWrong);
    return { pauseMs: isCounted ? 0 : periodMs, undo };
  }

  async function check({ email: given, password, cookies }: PasswordAttempt) {
    const email = given.toLowerCase();
    const account = await system.first(store.selectAccount, email);
    const isKnown = account !== undefined && known.isKnown(cookies, account.user_id);
    const attempt = await begin(email, isKnown ? account.user_id : undefined);
    if (attempt.pauseMs > 0) throw waiting(attempt.pauseMs);
    const isRight = await passwords
      .isRight(password, account?.password_hash, isKnown)
      .catch(async (error: unknown) => {
        // Nobody knows whether it was wrong, so it is no guess.
        await attempt.undo();
        throw error;
      });
    if (!account || !isRight) {
      throw new Refusal("unauthenticated", "The e-mail address or the password is wrong.");
    }
    await attempt.undo();
    return account;
  }

  return async (attempt) => {
    const startedAt = performance.now();
    try {
      return await check(attempt);
    } catch (error) {
      await pause(Math.max(0, refusalMs - (performance.now() - startedAt)));
      throw error;
    }
  };
}

const waiting = (retryAfterMs: number) =>
  new Refusal(
    "rate_limited",
    "There were too many wrong passwords for this address from browsers that the service does not know. Use a browser in which you have signed in before, or wait.",
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
