// The token that a host sends to the edge and to NATS: its identity, its permissions and its expiry. It
// is created and read without the database.
import { hostPermissions, isPublicNkey } from "@hawser/host-protocol";
import { encodeClaims, readUserToken } from "./claims.ts";
import { nkeyOf, signers, type FabricKeys } from "./fabric-keys.ts";

export interface HostTokens {
  /** `instanceId` is the id that callers see (ins_…), `publicKey` the host's own key (U…). */
  mint(
    instanceId: string,
    publicKey: string,
    now?: number,
  ): { token: string; /** ISO text. */ expiresAt: string; /** The public key. */ signer: string };
  /** The host of the token; undefined if the token is not ours, not a host's, or expired at `now` (in ms). */
  read(token: string, now: number): { publicKey: string; instanceId: string } | undefined;
}

const replyWithinNanoseconds = 60e9;
/** A daemon needs two subscriptions: its commands and its inbox. */
const mostSubscriptions = 20;

/** What it takes to check a host token. All of it is public. */
export interface HostTokenTrust {
  accountPublicKey: string;
  /** A token may be signed by any of these. */
  hostPublicKeys: readonly string[];
}

export function hostTokenTrust(keys: HostKeys) {
  const { accountPublicKey } = keys;
  return { accountPublicKey, hostPublicKeys: signers(keys, "hostSigningSeed") };
}

type HostKeys = Pick<FabricKeys, "hostSigningSeed" | "accountPublicKey" | "secondNatsKeys">;

/** `trust` is read for each token: a rotation changes it. */
export function createHostTokenReader(trust: () => HostTokenTrust): Pick<HostTokens, "read"> {
  return {
    read(token, now) {
      const { accountPublicKey, hostPublicKeys } = trust();
      for (const publicKey of hostPublicKeys) {
        const claims = readUserToken(token, { kind: "account", publicKey });
        if (!claims) continue;
        if (claims.nats.issuer_account !== accountPublicKey) return undefined;
        if (claims.exp * 1000 <= now) return undefined;
        return { publicKey: claims.sub, instanceId: claims.name };
      }
      return undefined;
    },
  };
}

/** `keys` are read for each token: a rotation changes them. */
export function createHostTokens(
  keys: HostKeys,
  lifetimeSeconds: number,
  clock: () => number = Date.now,
): HostTokens {
  return {
    ...createHostTokenReader(() => hostTokenTrust(keys)),
    mint(instanceId, publicKey, now = clock()) {
      // The id becomes part of the allowed subjects, where a dot or a star would widen them.
      if (!/^[A-Za-z0-9_-]+$/.test(instanceId)) throw new Error("This is not an instance's id.");
      // A key has only one spelling, because revocation compares its text.
      if (publicKey.length !== 56 || !isPublicNkey("user", publicKey))
        throw new Error("This is not a host's public key.");
      const issuedAt = Math.floor(now / 1000);
      const expiresAt = issuedAt + lifetimeSeconds;
      const { publish, subscribe } = hostPermissions(instanceId);
      const signer = nkeyOf(keys.hostSigningSeed);
      const token = encodeClaims(signer, {
        subject: publicKey,
        name: instanceId,
        issuedAt,
        expiresAt,
        grant: {
          type: "user",
          issuer_account: keys.accountPublicKey,
          pub: { allow: publish },
          sub: { allow: subscribe },
          resp: { max: 1, ttl: replyWithinNanoseconds },
          allowed_connection_types: ["WEBSOCKET"],
          subs: mostSubscriptions,
          data: -1,
          payload: -1,
        },
      });
      const until = new Date(expiresAt * 1000).toISOString();
      return { token, expiresAt: until, signer: signer.publicKey };
    },
  };
}
