// Seals a secret for one host, as callers of link_agent_identity do: a compact JSON Web Encryption (RFC 7516)
// with RSA-OAEP-256 and A256GCM. It uses the Web Cryptography API, so browsers and Node can run it.
import type { LinkableKind } from "./records/agent-kind.ts";
import type { LinkWay, SealingKey } from "./records/identity.ts";

/**
 * What is sealed: the user who links the account, the fields of the call, and the secret. The host accepts the
 * secret for exactly these. So nobody can link it as another account, or send it to another address.
 */
interface Sealed {
  userId: string;
  kind: LinkableKind;
  way: LinkWay;
  baseUrl?: string;
  region?: string;
  projectId?: string;
  secret: string;
}

/** `key` is the `sealingKey` of list_agent_identities. */
export async function seal(key: SealingKey, sealed: Sealed): Promise<string> {
  const { subtle } = crypto;
  const rsa = { name: "RSA-OAEP", hash: "SHA-256" };
  const publicKey = await subtle.importKey("jwk", key, rsa, false, ["encrypt"]);
  const rawKey = crypto.getRandomValues(new Uint8Array(32));
  const contentKey = await subtle.importKey("raw", rawKey, "AES-GCM", false, ["encrypt"]);
  const wrappedKey = await subtle.encrypt(rsa, publicKey, rawKey);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const header = encode(utf8(JSON.stringify({ alg: "RSA-OAEP-256", enc: "A256GCM" })));
  const encrypted = await subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: utf8(header) },
    contentKey,
    utf8(JSON.stringify(sealed)),
  );
  // The Web Cryptography API appends the tag, which JWE has as a part of its own.
  const [text, tag] = [encrypted.slice(0, -16), encrypted.slice(-16)];
  return [header, ...[wrappedKey, iv, text, tag].map(encode)].join(".");
}

const utf8 = (text: string) => new TextEncoder().encode(text);

/** Base64url. */
function encode(bytes: ArrayBuffer | Uint8Array): string {
  const binary = Array.from(new Uint8Array(bytes), (byte) => String.fromCharCode(byte)).join("");
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}
