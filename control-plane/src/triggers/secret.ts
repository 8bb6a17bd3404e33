// The secrets of triggers. A trigger's row has only a random salt; the secret is derived from the salt and a secret
// of the service, so a copy of the database contains none of them.
import { hkdfSync, randomBytes } from "node:crypto";

export const makeSalt = (): Buffer => randomBytes(32);

/** The secret in the form of Standard Webhooks. GitHub accepts any text. */
export function secretOf(serviceSecret: Buffer, salt: Buffer): string {
  const key = hkdfSync("sha256", serviceSecret, salt, "hawser trigger 1", 32);
  return `whsec_${Buffer.from(key).toString("base64")}`;
}
