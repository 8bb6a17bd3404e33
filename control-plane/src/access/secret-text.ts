// Secrets that people handle: a prefix that names the kind, 256 random bits, and a checksum that
// detects a mistyped secret without asking the database. Only their SHA-256 is stored.
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

/**
 * How each kind of secret begins, so that a secret which is found somewhere shows what it opens. Tickets of tunnels
 * have another form, and begin with `hwt`.
 */
export const secretPrefixes = {
  apiKey: "hwk",
  pairingToken: "hwp",
  sessionLink: "hwl",
  invitation: "hwi",
  signIn: "hws",
  /**
   * A sign-in with a provider. A node of an earlier version does not know that it reaches one organization only, and
   * refuses the unknown prefix.
   */
  providerSignIn: "hwo",
  ownerLink: "hwe",
  deviceLogin: "hwd",
  phoneLink: "hwf",
  phone: "hwv",
} as const;

/** `prefix`: one of the above. That of an API key is followed by the key's id. */
export function makeSecretText(prefix: string): string {
  const body = `${prefix}_${BigInt(`0x${randomBytes(32).toString("hex")}`)
    .toString(36)
    .padStart(50, "0")}`;
  return body + checksum(body);
}

/** Whether a text can be a secret of this prefix at all. */
export function looksLikeSecret(prefix: string, text: string): boolean {
  return (
    text.length < 200 &&
    text.startsWith(`${prefix}_`) &&
    text.length > 8 &&
    checksum(text.slice(0, -8)) === text.slice(-8)
  );
}

export function hashSecret(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}

function checksum(body: string): string {
  return crc32(body).toString(16).padStart(8, "0");
}
