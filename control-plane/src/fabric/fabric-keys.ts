// The keys of a service's fabric, created once by `init-fabric` and stored as one encrypted secret.
//
// The account of the hosts has two signing keys, one for nodes and one for hosts. The account that
// nats-servers start with contains only the first; the second is pushed with the list of revoked hosts
// (revocation.ts). So a server that lost its disk accepts nodes and no host until a node has pushed the
// revocations; it never accepts a revoked host.
import { makeNkey, makeSigningKey, nkeyFromSeed } from "@hawser/host-protocol";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import type { Database, SystemTransaction } from "../postgres/database.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { keepSecret, readSecret, replaceSecret } from "../secrets/secrets.ts";
import { encodeClaims } from "./claims.ts";

const SigningKey = z.strictObject({ publicKey: z.string(), privateKey: z.string() });

const FabricKeys = z.strictObject({
  operatorJwt: z.string(),
  /** Signs accounts; the operator's own key only authorizes this key. */
  operatorSigningSeed: z.string(),
  systemAccountPublicKey: z.string(),
  systemAccountSeed: z.string(),
  systemAccountJwt: z.string(),
  accountPublicKey: z.string(),
  /** The account that nats-servers start with: accepts nodes, and no hosts yet. */
  accountJwt: z.string(),
  nodeSigningSeed: z.string(),
  hostSigningSeed: z.string(),
  /** Signs commands. Daemons pin the public half. */
  commandKey: SigningKey,
  /** The other key that hosts accept while `commandKey` is replaced (command-key-rotation.ts). */
  secondCommandKey: SigningKey.extend({
    stage: z.enum(["next", "former"]),
    since: z.iso.datetime(),
  }).optional(),
});
export type FabricKeys = z.infer<typeof FabricKeys>;

/** `operatorSeed` is not part of the stored keys: it is shown once, to be kept offline. */
export function makeFabricKeys(): { keys: FabricKeys; operatorSeed: string } {
  const issuedAt = Math.floor(Date.now() / 1000);
  const operator = makeNkey("operator");
  const operatorSigning = makeNkey("operator");
  const systemAccount = makeNkey("account");
  const account = makeNkey("account");
  const nodeSigning = makeNkey("account");
  const hostSigning = makeNkey("account");
  const made = {
    operatorJwt: encodeClaims(operator, {
      subject: operator.publicKey,
      name: "hawser",
      issuedAt,
      grant: {
        type: "operator",
        signing_keys: [operatorSigning.publicKey],
        system_account: systemAccount.publicKey,
      },
    }),
    operatorSigningSeed: operatorSigning.seed,
    systemAccountPublicKey: systemAccount.publicKey,
    systemAccountSeed: systemAccount.seed,
    systemAccountJwt: encodeClaims(operatorSigning, {
      subject: systemAccount.publicKey,
      name: "system",
      issuedAt,
      grant: { type: "account", limits: unlimited },
    }),
    accountPublicKey: account.publicKey,
    nodeSigningSeed: nodeSigning.seed,
    hostSigningSeed: hostSigning.seed,
    commandKey: makeSigningKey(),
  };
  // Servers keep the newest account they have seen; this one is older than every pushed one.
  const accountJwt = encodeAccount(made, [nodeSigning.publicKey], {}, 1);
  return { keys: { ...made, accountJwt }, operatorSeed: operator.seed };
}

/** The account that is pushed: accepts hosts, except those in the list. */
export function accountWithRevocations(
  keys: FabricKeys,
  revocations: Record<string, number>,
  issuedAt: number,
): string {
  const signers = [keys.nodeSigningSeed, keys.hostSigningSeed].map(
    (seed) => nkeyFromSeed(seed).publicKey,
  );
  return encodeAccount(keys, signers, revocations, issuedAt);
}

function encodeAccount(
  keys: Pick<FabricKeys, "accountPublicKey" | "operatorSigningSeed">,
  signers: string[],
  revocations: Record<string, number>,
  issuedAt: number,
): string {
  return encodeClaims(nkeyFromSeed(keys.operatorSigningSeed), {
    subject: keys.accountPublicKey,
    name: "hosts",
    issuedAt,
    grant: { type: "account", limits: unlimited, signing_keys: signers, revocations },
  });
}

const unlimited = {
  subs: -1,
  data: -1,
  payload: -1,
  imports: -1,
  exports: -1,
  wildcards: true,
  conn: -1,
  leaf: 0,
};

const secretName = "fabric";

/** The service's keys; undefined before `init-fabric`. */
export async function readFabricKeys(
  system: SystemSql,
  masterKeys: MasterKeys,
): Promise<FabricKeys | undefined> {
  const secret = await readSecret(system, masterKeys, secretName);
  return secret && FabricKeys.parse(JSON.parse(secret.toString()));
}

/** Stores new keys. Returns false, and stores nothing, if the service already has keys. */
export function keepFabricKeys(
  system: SystemSql,
  masterKeys: MasterKeys,
  keys: FabricKeys,
): Promise<boolean> {
  return keepSecret(system, masterKeys, secretName, Buffer.from(JSON.stringify(keys)));
}

/** Replaces the keys by what `change` returns. One change at a time, on all nodes. */
export function changeFabricKeys(
  database: Pick<Database, "systemTransaction">,
  masterKeys: MasterKeys,
  change: (keys: FabricKeys, tx: SystemTransaction) => FabricKeys | Promise<FabricKeys>,
): Promise<void> {
  return database.systemTransaction(async (tx) => {
    const isThere = await replaceSecret(tx, masterKeys, secretName, async (secret) => {
      const changed = await change(FabricKeys.parse(JSON.parse(secret.toString())), tx);
      return Buffer.from(JSON.stringify(changed));
    });
    if (!isThere) throw new ConfigError("There is no fabric yet. Run init-fabric first.");
  });
}
