// A phone signs in without typing a password: it opens a link that its person's browser shows, it shows four digits,
// and the person types the digits in that browser. phone-handlers.ts has the browser's side.
import { Refusal } from "@hawser/contract";
import {
  hashSecret,
  looksLikeSecret,
  makeSecretText,
  secretPrefixes,
} from "../access/secret-text.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { noPhoneCookie, phoneCookie, phoneCookieOf, readCookie } from "./cookies.ts";
import { deviceOf, type Door } from "./door.ts";
import { hashDigits, makeDigits, phoneSeconds } from "./phone-digits.ts";
import { phoneRequests as requests } from "./phone-requests.ts";
import * as store from "./phone-store.ts";
import { deviceName, takeOverSignIn } from "./sign-ins.ts";

export function addPhoneRoutes({
  door,
  accounts,
  secret,
}: {
  door: Door;
  accounts: SystemDatabase;
  /** For the digests of digits. */
  secret: Buffer;
}): void {
  door.post(requests.openPhone, async (c, { link }) => {
    if (!looksLikeSecret(secretPrefixes.phoneLink, link)) throw notGood();
    const token = makeSecretText(secretPrefixes.phone);
    const digits = makeDigits();
    const opened = await accounts.systemTransaction(async (tx) => {
      const browser = await tx.first(store.lockDeviceLink, hashSecret(link));
      if (!browser) throw notGood();
      const { sign_in_id: id } = browser;
      const hashes = [hashSecret(token), hashDigits(secret, id, digits)];
      const device = deviceName(deviceOf(c));
      return tx.first(store.openDeviceLink, id, ...hashes, device, phoneSeconds);
    });
    c.header("Set-Cookie", phoneCookieOf(token, 2 * phoneSeconds), { append: true });
    return { digits, expiresAt: opened!.expires_at };
  });

  door.post(requests.enterPhone, async (c) => {
    const token = readCookie(c.req.header("cookie"), phoneCookie);
    if (token === undefined || !looksLikeSecret(secretPrefixes.phone, token))
      return { state: "over" };
    const entered = await accounts.systemTransaction(async (tx) => {
      const waiting = await tx.first(store.lockWaitingDevice, hashSecret(token));
      if (!waiting?.is_confirmed) return waiting && "waiting";
      const { sign_in_id: from, user_id: userId } = waiting;
      const made = await takeOverSignIn(tx, { from, userId, device: deviceOf(c) });
      await tx.rows(store.deleteDeviceSignIn, from);
      return { userId, token: made };
    });
    if (entered === "waiting") return { state: "waiting" };
    c.header("Set-Cookie", noPhoneCookie, { append: true });
    if (!entered) return { state: "over" };
    return { state: "signed_in", ...(await door.enter(c, entered.userId, entered.token)) };
  });
}

const notGood = () =>
  new Refusal(
    "not_found",
    "This link is not good: it was opened before, is older than two minutes, or was replaced. Show another one in the browser in which you are signed in.",
  );
