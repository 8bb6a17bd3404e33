// The codes by which a person tells the service which program they mean. A code is short, so that a person can compare
// and type it. It is worth nothing without a sign-in, and is stored as a digest that needs a secret of the service.
import { createHmac, randomInt } from "node:crypto";

/** Without vowels, which would make words, and without letters and digits that look alike. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const length = 8;

/** Eight letters, of 34 random bits. */
export function makeDeviceCode(): string {
  return Array.from({ length }, () => letters[randomInt(letters.length)]).join("");
}

/** ABCD-EFGH, as people see it. */
export const shownCode = (code: string) => `${code.slice(0, 4)}-${code.slice(4)}`;

/** The code that a person typed, in either case, with or without the hyphen; undefined if it can be none. */
export function readDeviceCode(typed: string): string | undefined {
  const code = typed.replaceAll(/[\s-]/g, "").toUpperCase();
  return code.length === length && [...code].every((each) => letters.includes(each))
    ? code
    : undefined;
}

export const hashDeviceCode = (secret: Buffer, code: string): Buffer =>
  createHmac("sha256", secret).update(`device code\n${code}`).digest();
