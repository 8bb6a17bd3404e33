// The HTTP requests a host makes before it has a link: pairing, the upgrade to the link itself, and
// a new token when the old one has run out. Each is proven by the host's own key, which never
// leaves the host.
import { z } from "zod";
import { verifyNkey, type Nkey } from "./nkey.ts";

export const PairRequest = z.strictObject({
  pairingToken: z.string(),
  publicKey: z.string(),
  machineId: z.string().min(1).max(200),
  daemonVersion: z.string().max(100),
});
export type PairRequest = z.infer<typeof PairRequest>;

export const PairReply = z.strictObject({
  instanceId: z.string(),
  /** The host's credential for the fabric; good for a day. */
  token: z.string(),
  /** Commands must be signed by this key; pinned for the life of the pairing. */
  commandKey: z.string(),
});
export type PairReply = z.infer<typeof PairReply>;

/** POST /api/hosts/nonce answers this; it is good for a minute. */
export const NonceReply = z.strictObject({ nonce: z.string() });

export const RenewRequest = z.strictObject({
  publicKey: z.string(),
  nonce: z.string(),
  signature: z.string(),
});
export type RenewRequest = z.infer<typeof RenewRequest>;

const renewText = (publicKey: string, nonce: string) => `hawser renew 1\n${publicKey}\n${nonce}`;

export function makeRenewRequest(key: Nkey, nonce: string): RenewRequest {
  const { publicKey } = key;
  return { publicKey, nonce, signature: key.sign(renewText(publicKey, nonce)).toString("base64") };
}

export function isRenewGenuine({ publicKey, nonce, signature }: RenewRequest): boolean {
  return verifyNkey(
    "user",
    publicKey,
    renewText(publicKey, nonce),
    Buffer.from(signature, "base64"),
  );
}

/** The path of the link, and the header that proves who dials it. */
export const fabricPath = "/api/fabric";
export const proofHeader = "x-hawser-proof";
const proofAgeMs = 60_000;

const proofText = (host: string, at: number) => `hawser link 1\n${host}\n${fabricPath}\n${at}`;

/** `host` is the Host header the edge will see; `at` the time by the edge's clock, in milliseconds. */
export function makeProof(key: Nkey, host: string, at: number): string {
  return `${at}.${key.sign(proofText(host, at)).toString("base64url")}`;
}

export function isProofGood(publicKey: string, host: string, proof: string, now: number): boolean {
  const [time, signature] = proof.split(".");
  const at = Number(time);
  if (!signature || !Number.isSafeInteger(at) || Math.abs(now - at) > proofAgeMs) return false;
  return verifyNkey("user", publicKey, proofText(host, at), Buffer.from(signature, "base64url"));
}
