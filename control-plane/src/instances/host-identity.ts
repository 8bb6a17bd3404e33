// Which machine an instance is. Pairing gives it a key, renewal gives that key a new token, and another
// pairing or the removal of the instance revokes the key. This file never sees a secret of a host.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { Refusal, formatId } from "@hawser/contract";
import {
  isPublicNkey,
  isRenewGenuine,
  type PairReply,
  type PairRequest,
  type RenewReply,
  type RenewRequest,
} from "@hawser/host-protocol";
import { hashSecret, looksLikeSecret, secretPrefixes } from "../access/secret-text.ts";
import { insertEntry } from "../audit/store.ts";
import type { HostTokens } from "../fabric/host-token.ts";
import { forgetAccountsOfPairedHost } from "../identities/store.ts";
import type { SystemDatabase, SystemTransaction, TenantTransaction } from "../postgres/database.ts";
import { withdrawRequestsOfInstance } from "../requests/log-store.ts";
import type { CutOff } from "./cut-off.ts";
import * as keys from "./host-key-store.ts";
import type { RemovedHosts } from "./removed-hosts.ts";
import { redeemPairingToken } from "./store.ts";

export interface HostIdentity {
  database: SystemDatabase;
  tokens: Pick<HostTokens, "mint">;
  /** The public half of the key that signs commands. */
  commandKey: string;
  nonces: Nonces;
  cutOff: CutOff;
  removed: Pick<RemovedHosts, "answerKey">;
}

interface Pairing {
  reply: PairReply;
  tookOver: boolean;
}

/**
 * Pairs a host with the instance of its token. A host that was paired before loses its key in the same
 * transaction. Every attempt with a known token is written to the audit trail of its organization,
 * unless `countWrongToken` throws because the sender has tried too many wrong ones.
 */
export async function pairHost(
  parts: Omit<HostIdentity, "removed">,
  request: PairRequest,
  callId: string,
  countWrongToken: () => void,
): Promise<PairReply> {
  const { publicKey, machineId, daemonVersion, pairingToken } = request;
  if (!isPublicNkey("user", publicKey)) {
    throw new Refusal("invalid_input", "The body is not valid: publicKey must be a user NKey.", {
      fields: [{ field: "publicKey", message: "must be the public key of a user NKey" }],
    });
  }
  // A malformed token costs no query, so it is not counted.
  if (!looksLikeSecret(secretPrefixes.pairingToken, pairingToken)) throw wrongToken();
  const hash = hashSecret(pairingToken);
  const found = await parts.database.system.first(keys.selectPairing, hash);
  if (!found || found.refused !== null) countWrongToken();
  if (!found) throw wrongToken();
  const attempt = (outcome: string, more: object) => {
    const instanceId = formatId("instance", found.instance_id);
    const input = { instanceId, publicKey, machineId, daemonVersion, ...more };
    const records = outcome === "done" ? { instanceId } : {};
    const { organization_id: organizationId } = found;
    return [organizationId, null, null, null, "pair_host", outcome, input, records, callId, null];
  };
  try {
    if (found.refused !== null) throw wrongToken();
    const { reply, tookOver } = await parts.database.systemTransaction(async (tx) => {
      const pairing = await takeOver(parts, tx, found, hash, request);
      tx.later(insertEntry, ...attempt("done", pairing.tookOver ? { tookOver: true } : {}));
      return pairing;
    });
    if (tookOver) void parts.cutOff(found.organization_id, found.instance_id);
    return reply;
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const refused = (await parts.database.system.first(keys.selectPairing, hash))?.refused;
    await parts.database.system.rows(
      insertEntry,
      ...attempt(error.code, refused ? { refused } : {}),
    );
    throw error;
  }
}

async function takeOver(
  { tokens, commandKey }: Pick<HostIdentity, "tokens" | "commandKey">,
  tx: SystemTransaction,
  found: keys.PairingRow,
  hash: Buffer,
  { publicKey, machineId, daemonVersion }: PairRequest,
): Promise<Pairing> {
  const instance = [found.organization_id, found.instance_id];
  if (found.host_key !== null) await tx.rows(keys.lockSessionsNotOver, ...instance);
  const former = await tx.first(keys.lockInstanceForPairing, ...instance);
  if (!former || !(await tx.first(redeemPairingToken, hash))) throw wrongToken();
  const instanceId = formatId("instance", found.instance_id);
  const { token, expiresAt, signer } = tokens.mint(instanceId, publicKey);
  const key = [...instance, publicKey, machineId, expiresAt, commandKey, signer];
  if (!(await tx.first(keys.insertHostKey, ...key))) {
    throw new Refusal(
      "already_exists",
      "This host key is in use, or was. Pair again with a new key; the token is still valid.",
    );
  }
  const revoked = await tx.rows(keys.revokeFormerKeys, ...instance, publicKey);
  tx.later(keys.setHost, ...instance, publicKey, machineId, daemonVersion);
  if (former.host_key !== null) tx.later(forgetAccountsOfPairedHost, ...instance);
  if (former.host_key !== null && former.machine_id !== machineId) {
    tx.later(keys.failSessionsOfReplacedHost, ...instance);
    tx.later(withdrawRequestsOfInstance, ...instance);
  }
  return { reply: { instanceId, token, commandKey }, tookOver: revoked.length > 0 };
}

function wrongToken(): Refusal {
  return new Refusal(
    "not_found",
    "This pairing token is not valid: it is mistyped, used, replaced or older than 15 minutes. Make a new one with regenerate_pairing_token.",
  );
}

/** A new token for a host that can prove its key, even if its last token expired long ago. */
export async function renewHost(parts: HostIdentity, request: RenewRequest): Promise<RenewReply> {
  if (!parts.nonces.isValid(request.nonce)) {
    throw new Refusal("unauthenticated", "The nonce is no longer valid. Request another one.");
  }
  if (!isRenewGenuine(request)) {
    throw new Refusal("unauthenticated", "The signature was not made by this key.");
  }
  return renewToken(parts, request.publicKey);
}

/** A new token for a host whose key is already proven, if the key is that of a paired host. */
export async function renewToken(
  { database, tokens, removed }: Pick<HostIdentity, "database" | "tokens" | "removed">,
  publicKey: string,
): Promise<RenewReply> {
  const host = await database.system.first(keys.selectHostKey, publicKey);
  if (!host) return removed.answerKey(publicKey);
  const instanceId = formatId("instance", host.instance_id);
  const { token, expiresAt, signer } = tokens.mint(instanceId, publicKey);
  // If the key was revoked in the meantime, it gets no token: a token that is not recorded could
  // outlive the revocation.
  const noted = await database.system.first(keys.extendHostKey, publicKey, expiresAt, signer);
  return noted ? { token } : removed.answerKey(publicKey);
}

/**
 * Revokes the keys of an instance's hosts, in the transaction that removes the instance. Cut them off
 * afterwards.
 */
export function revokeHostKeys(
  tx: TenantTransaction,
  organizationId: string,
  instanceId: string,
): void {
  tx.later(keys.revokeKeysOfInstance, organizationId, instanceId);
}

/**
 * Texts that contain their creation time. Every node with the same secret recognizes them without
 * storing them.
 */
export interface Nonces {
  make(): string;
  isValid(nonce: string): boolean;
}

const nonceAgeMs = 60_000;

export function createNonces(secret: Buffer, now: () => number = Date.now): Nonces {
  const macOf = (body: string) =>
    createHmac("sha256", secret).update(`hawser nonce 1\n${body}`).digest();
  return {
    make() {
      const body = `${now()}.${randomBytes(12).toString("base64url")}`;
      return `${body}.${macOf(body).toString("base64url")}`;
    },
    isValid(nonce) {
      const at = nonce.length < 200 ? nonce.lastIndexOf(".") : -1;
      if (at < 0) return false;
      const mac = Buffer.from(nonce.slice(at + 1), "base64url");
      const expected = macOf(nonce.slice(0, at));
      if (mac.length !== expected.length || !timingSafeEqual(mac, expected)) return false;
      // Another node's clock may be a little ahead of this one's.
      return Math.abs(now() - Number(nonce.slice(0, nonce.indexOf(".")))) <= nonceAgeMs;
    },
  };
}
