// What an idempotency row contains: a hash of the key, an HMAC of the body, and the outcome encrypted
// under a key derived from the idempotency key. A reader of the database or of a dump can read none of
// the three; only the caller's retry can decrypt the outcome.
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

export interface Seal {
  keyHash: Buffer;
  bodyHmac: Buffer;
  seal(value: unknown): Buffer;
  open(sealed: Buffer): unknown;
}

/** `scope` names the call: organization, API key and action, so that equal keys elsewhere share nothing. */
export function sealFor(
  pepper: Buffer,
  scope: string[],
  idempotencyKey: string,
  input: unknown,
): Seal {
  const where = scope.join("\n");
  const hmac = (use: string, text: string) =>
    createHmac("sha256", pepper).update(`${use}\n${where}\n${text}`).digest();
  const sealingKey = Buffer.from(hkdfSync("sha256", idempotencyKey, pepper, where, 32));
  return {
    keyHash: hmac("key", idempotencyKey),
    bodyHmac: hmac("body", canonical(input)),
    seal(value) {
      const nonce = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce);
      const text = Buffer.concat([cipher.update(JSON.stringify(value ?? null)), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), text]);
    },
    open(sealed) {
      const cipher = createDecipheriv("aes-256-gcm", sealingKey, sealed.subarray(0, 12));
      cipher.setAuthTag(sealed.subarray(12, 28));
      const text = Buffer.concat([cipher.update(sealed.subarray(28)), cipher.final()]);
      return JSON.parse(text.toString()) as unknown;
    },
  };
}

/** JSON with sorted keys, so that the order of fields does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
