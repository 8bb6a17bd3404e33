// Checking a password. An account accepts only some wrong passwords of unknown browsers in a period, from whatever
// addresses they come. A browser in which the person has signed in before has a limit of its own, so nobody can lock
// the person out. An address without an account gets the same answers after the same work.
import { Refusal } from "@hawser/contract";
import type { SystemDatabase } from "../postgres/database.ts";
import type { KnownBrowsers } from "./cookies.ts";
import type { Passwords } from "./password.ts";
import * as store from "./store.ts";
import { createWrongCounts } from "./wrong-counts.ts";

const periodMs = 15 * 60_000;
const mostWrong = 10;
const mostWrongOfKnown = 100;

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
}: {
  accounts: SystemDatabase;
  passwords: Passwords;
  known: KnownBrowsers;
}): CheckPassword {
  const wrongOfKnown = createWrongCounts({ most: mostWrongOfKnown, periodMs });
  const wrongOfNobody = createWrongCounts({ most: mostWrong, periodMs });

  /** Counts an attempt as wrong before it is checked, so that guesses at the same time are no way around the limit. */
  async function begin(email: string, account: store.AccountRow | undefined, isKnown: boolean) {
    if (!account) {
      return { pauseMs: wrongOfNobody.begin(email), undo: () => Promise.resolve() };
    }
    const id = account.user_id;
    if (isKnown) {
      return { pauseMs: wrongOfKnown.begin(id), undo: async () => wrongOfKnown.undo(id) };
    }
    const pauseMs = pauseOf(account) || ((await isCounted(id)) ? 0 : periodMs);
    return { pauseMs, undo: () => accounts.system.rows(store.undoWrongPassword, id) };
  }

  const isCounted = async (userId: string) =>
    (await accounts.system.first(store.countWrongPassword, userId, periodMs, mostWrong)) !==
    undefined;

  return async ({ email: given, password, cookies }) => {
    const email = given.toLowerCase();
    const account = await accounts.system.first(store.selectAccount, email);
    const isKnown = account !== undefined && known.isKnown(cookies, account.user_id);
    const attempt = await begin(email, account, isKnown);
    if (attempt.pauseMs > 0) throw paused(attempt.pauseMs);
    const isRight = await passwords.isRight(password, account?.password_hash, isKnown);
    if (!account || !isRight) {
      throw new Refusal("unauthenticated", "The e-mail address or the password is wrong.");
    }
    await attempt.undo();
    return account;
  };
}

/** How long the account accepts no password of an unknown browser. */
function pauseOf({ wrong_passwords, wrong_for_ms }: store.AccountRow): number {
  if (wrong_for_ms === null || wrong_passwords < mostWrong) return 0;
  return Math.max(0, periodMs - wrong_for_ms);
}

const paused = (retryAfterMs: number) =>
  new Refusal(
    "rate_limited",
    "There were too many wrong passwords for this address from browsers that the service does not know. Use a browser in which you have signed in before, or wait.",
    { retryAfterMs: Math.ceil(retryAfterMs) },
  );
