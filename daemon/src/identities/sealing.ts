// The host's own key, for which people seal the secrets that they link. The control plane passes a sealed secret
// on and cannot open it. The format is a compact JSON Web Encryption (RFC 7516) of one kind only.
import {
  constants,
  createDecipheriv,
  createHash,
  createPrivateKey,
  generateKeyPair,
  privateDecrypt,
  type JsonWebKey,
  type KeyObject,
} from "node:crypto";
import { rmSync } from "node:fs";
import { promisify } from "node:util";
import { SealingKey } from "@hawser/contract";
import type { PayloadOf } from "@hawser/host-protocol";
import { CommandRefusal } from "../command-refusal.ts";
import { isObject } from "../drivers/is-object.ts";
import { replaceFile } from "../state/replace-file.ts";
import { readJson } from "../state/state.ts";

export interface Sealing {
  /** The public half. Makes the key at the first call. */
  publicKey(): Promise<SealingKey>;
  /** The secret, which the owner has sealed for exactly this account. Throws a refusal, always the same. */
  open(wanted: PayloadOf<"link_identity">): Promise<string>;
  remove(): void;
}

const modulusBits = 3072;
const longestSealed = 32_768;
const longestSecret = 16_384;

/** Every failure is refused alike, so that nobody learns from the answers what a sealed text contains. */
const refusal = () =>
  new CommandRefusal(
    "login_failed",
    "The host cannot use this sealed secret. Read sealingKey with list_agent_identities, and seal the secret again, with your own user and the same fields as in this call. A key is one word; the secret for vertex is the JSON of a service account or an authorized user.",
  );

export function openSealing(file: string): Sealing {
  let key: Promise<KeyObject> | undefined;
  const privateKey = () => {
    key ??= readOrMake(file);
    key.catch(() => (key = undefined));
    return key;
  };
  return {
    publicKey: async () => publicHalf((await privateKey()).export({ format: "jwk" })),
    async open({ sealedSecret, ownerId, ...named }) {
      const contents = decrypt(await privateKey(), sealedSecret);
      // Nobody can link a secret that somebody else has sealed, or have it sent to another address.
      const meant = { ...named, userId: ownerId.split(".")[0] };
      const isMeant = Object.entries(meant).every(
        ([name, value]) => (contents?.[name] ?? null) === value,
      );
      const { way } = named;
      const secret = contents?.["secret"];
      if (!isMeant || typeof secret !== "string" || secret.length > longestSecret) throw refusal();
      const trimmed = secret.trim();
      if (way === "vertex" ? !isGoogleCredential(trimmed) : !isOneWord(trimmed)) throw refusal();
      return trimmed;
    },
    remove: () => rmSync(file, { force: true }),
  };
}

/** Agents send it in an HTTP header. */
const isOneWord = (secret: string) => /^[\x21-\x7e]+$/.test(secret);

/** Other types of credentials name files that are read on the host and sent to any address. */
function isGoogleCredential(text: string): boolean {
  const credential = parse(text);
  const type = isObject(credential) ? credential["type"] : undefined;
  return type === "service_account" || type === "authorized_user";
}

/** SHA-256 of the key's thumbprint input (RFC 7638), in base64url; undefined if there is no key yet. */
export function readFingerprint(file: string): string | undefined {
  const kept = readJson(file);
  if (kept === undefined) return undefined;
  const { e, kty, n } = publicHalf(kept);
  return createHash("sha256").update(JSON.stringify({ e, kty, n })).digest("base64url");
}

async function readOrMake(file: string): Promise<KeyObject> {
  const kept = readJson(file);
  if (kept) return createPrivateKey({ key: kept, format: "jwk" });
  const made = await promisify(generateKeyPair)("rsa", { modulusLength: modulusBits });
  replaceFile(file, made.privateKey.export({ format: "jwk" }));
  return made.privateKey;
}

const publicHalf = ({ n, e }: JsonWebKey | Record<string, unknown>) =>
  SealingKey.parse({ kty: "RSA", alg: "RSA-OAEP-256", use: "enc", n, e });

/** undefined if the text is not sealed for this key exactly as declared, or was changed. */
function decrypt(key: KeyObject, sealed: string): Record<string, unknown> | undefined {
  if (sealed.length > longestSealed) return undefined;
  const parts = sealed.split(".");
  const [head, wrappedKey, iv, text, tag] = parts.map((part) => Buffer.from(part, "base64url"));
  // Decoding is lenient, so one text could be written in many ways.
  const isCanonical = [head, wrappedKey, iv, text, tag].every(
    (bytes, index) => bytes?.toString("base64url") === parts[index],
  );
  if (parts.length !== 5 || !isCanonical || iv!.length !== 12 || tag!.length !== 16) {
    return undefined;
  }
  try {
    const header = parse(head!.toString());
    const isKnown =
      isObject(header) && header["alg"] === "RSA-OAEP-256" && header["enc"] === "A256GCM";
    if (!isKnown || "zip" in header || "crit" in header) return undefined;
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const contentKey = privateDecrypt({ key, padding, oaepHash: "sha256" }, wrappedKey!);
    const decipher = createDecipheriv("aes-256-gcm", contentKey, iv!, { authTagLength: 16 });
    decipher.setAAD(Buffer.from(parts[0]!)).setAuthTag(tag!);
    const plain = Buffer.concat([decipher.update(text!), decipher.final()]);
    const contents = parse(plain.toString());
    return isObject(contents) ? contents : undefined;
  } catch {
    return undefined;
  }
}

/** undefined if the text is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
