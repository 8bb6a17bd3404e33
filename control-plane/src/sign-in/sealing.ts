// Encrypts what the database or a browser keeps for the service: secrets of providers, and what a sign-in with one
// needs until the browser comes back.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

export interface Sealing {
  /** `place` names where the text belongs: it cannot be decrypted in another one. */
  seal(place: string, text: string): Buffer;
  /** Undefined if the bytes were not sealed for this place. */
  open(place: string, sealed: Buffer): string | undefined;
}

const nonceLength = 12;
const tagLength = 16;

export function createSealing(secret: Buffer): Sealing {
  const key = Buffer.from(hkdfSync("sha256", secret, "", "single sign-on", 32));
  return {
    seal(place, text) {
      const nonce = randomBytes(nonceLength);
      const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(place));
      const sealed = Buffer.concat([cipher.update(text), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), sealed]);
    },
    open(place, sealed) {
      if (sealed.length < nonceLength + tagLength) return undefined;
      const cipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceLength), {
        authTagLength: tagLength,
      });
      cipher.setAAD(Buffer.from(place));
      cipher.setAuthTag(sealed.subarray(nonceLength, nonceLength + tagLength));
      try {
        const text = cipher.update(sealed.subarray(nonceLength + tagLength));
        return Buffer.concat([text, cipher.final()]).toString();
      } catch {
        return undefined;
      }
    },
  };
}
