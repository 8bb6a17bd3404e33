// HTTP requests of a host: pairing, the upgrade to the link, a new token after the old one has expired,
// and blobs, which are too large for the link. The host proves each with its own key, which never leaves
// the host.
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
  /** The host's credential for the fabric; valid for two hours. */
  token: z.string(),
  /** Commands must be signed by this key, until the command `pin_command_keys` replaces it. */
  commandKey: z.string(),
});
export type PairReply = z.infer<typeof PairReply>;

/** Answer of POST /api/hosts/nonce; valid for a minute. */
export const NonceReply = z.strictObject({ nonce: z.string() });

export const RenewRequest = z.strictObject({
  publicKey: z.string(),
  nonce: z.string(),
  signature: z.string(),
  /** Asks for a proof that the service is behind this address. Nodes of version 0.1.0 send none. */
  challenge: z.string().max(100).optional(),
});
export type RenewRequest = z.infer<typeof RenewRequest>;

const renewText = (publicKey: string, nonce: string) => `hawser renew 1\n${publicKey}\n${nonce}`;

export function makeRenewRequest(key: Nkey, nonce: string, challenge?: string): RenewRequest {
  const { publicKey } = key;
  const signature = key.sign(renewText(publicKey, nonce)).toString("base64");
  return { publicKey, nonce, signature, ...(challenge !== undefined && { challenge }) };
}

export function isRenewGenuine({ publicKey, nonce, signature }: RenewRequest): boolean {
  return verifyNkey(
    "user",
    publicKey,
    renewText(publicKey, nonce),
    Buffer.from(signature, "base64"),
  );
}

/** Path of the link, and the header with the host's proof, for the link and for blobs. */
export const fabricPath = "/api/fabric";
export const proofHeader = "x-hawser-proof";
const proofAgeMs = 60_000;

const linkText = (host: string, at: number) => `hawser link 1\n${host}\n${fabricPath}\n${at}`;

/** `host` is the Host header that the edge receives; `at` is the time by the edge's clock, in milliseconds. */
export function makeProof(key: Nkey, host: string, at: number): string {
  return prove(key, linkText(host, at), at);
}

export function isProofGood(publicKey: string, host: string, proof: string, now: number): boolean {
  return isProven(publicKey, (at) => linkText(host, at), proof, now);
}

/** Path of the WebSocket that a host opens as the tunnel of an exposure. */
export const tunnelPath = "/api/hosts/tunnels";

/** Path for PUT and GET of blobs. A blob's name is the SHA-256 of its bytes, in hexadecimal. */
export const blobsPath = "/api/hosts/blobs/";
export const largestBlob = 64 * 1024 * 1024;

/** One request for a blob. Its proof is valid for no other request. */
export interface BlobRequest {
  method: string;
  /** The Host header that the node receives. */
  host: string;
  path: string;
}

const blobText = ({ method, host, path }: BlobRequest, at: number) =>
  `hawser blob 1\n${method}\n${host}\n${path}\n${at}`;

export function makeBlobProof(key: Nkey, request: BlobRequest, at: number): string {
  return prove(key, blobText(request, at), at);
}

export function isBlobProofGood(
  publicKey: string,
  request: BlobRequest,
  proof: string,
  now: number,
): boolean {
  return isProven(publicKey, (at) => blobText(request, at), proof, now);
}

const prove = (key: Nkey, text: string, at: number) =>
  `${at}.${key.sign(text).toString("base64url")}`;

function isProven(
  publicKey: string,
  text: (at: number) => string,
  proof: string,
  now: number,
): boolean {
  const [time, signature] = proof.split(".");
  const at = Number(time);
  if (!signature || !Number.isSafeInteger(at) || Math.abs(now - at) > proofAgeMs) return false;
  return verifyNkey("user", publicKey, text(at), Buffer.from(signature, "base64url"));
}
