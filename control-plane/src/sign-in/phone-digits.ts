// The digits that a phone shows and its person types in a browser. They show that the phone which has opened the link
// is the one in the person's hand.
import { createHmac, randomInt } from "node:crypto";

/** For the whole link, and then for the digits. */
export const phoneSeconds = 120;

export const makeDigits = (): string => String(randomInt(10_000)).padStart(4, "0");

/** `signInId`: the stored id of the browser's sign-in. */
export const hashDigits = (secret: Buffer, signInId: string, digits: string): Buffer =>
  createHmac("sha256", secret).update(`phone digits\n${signInId}\n${digits}`).digest();
