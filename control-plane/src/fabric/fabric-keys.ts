// The keys of a service's fabric, created once by `init-fabric` and stored as one encrypted secret.
//
// The account of the hosts has two signing keys, one for nodes and one for hosts. The account that
// nats-servers start with contains only the first; the second is pushed with the list of revoked hosts
// (revocation.ts). So a server that lost its disk accepts nodes and no host until a node has pushed the
// revocations; it never accepts a revoked host.
import { received } from "@hawser/contract";
import { makeNkey, makeSigningKey, nkeyFromSeed, type Nkey } from "@hawser/host-protocol";
import { z } from "zod";
import { ConfigError } from "../config.ts";
import type { Database, SystemTransaction } from "../postgres/database.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { keepSecret, readSecret, replaceSecret } from "../secrets/secrets.ts";
import { encodeClaims, readSubject } from "./claims.ts";

const SigningKey = z.strictObject({ publicKey: z.string(), privateKey: z.string() });

/** The keys of NATS that a rotation replaces together (nats-key-rotation.ts). */
const NatsKeys = z.strictObject({
  operatorJwt: z.string(),
  /** Signs accounts; the operator's own key only authorizes this key. */
  operatorSigningSeed: z.string(),
  /** Signs the system users of nodes. */
  systemAccountSeed: z.string(),
  nodeSigningSeed: z.string(),
  hostSigningSeed: z.string(),
});
export type NatsKeys = z.infer<typeof NatsKeys>;

const RotationStage = z.strictObject({
  stage: z.enum(["next", "former"]),
  since: z.iso.datetime(),
});

const FabricKeys = z.strictObject({
  ...NatsKeys.shape,
  systemAccountPublicKey: z.string(),
  systemAccountJwt: z.string(),
  accountPublicKey: z.string(),
  /** The account that nats-servers start with: accepts nodes, and no hosts yet. */
  accountJwt: z.string(),
  /** The other keys that NATS accepts while they are replaced. */
  secondNatsKeys: z.strictObject({ ...NatsKeys.shape, ...RotationStage.shape }).optional(),
  /** Signs commands. Daemons pin the public half. */
  commandKey: SigningKey,
  /** The other key that hosts accept while `commandKey` is replaced (command-key-rotation.ts). */
  secondCommandKey: z.strictObject({ ...SigningKey.shape, ...RotationStage.shape }).optional(),
});
export type FabricKeys = z.infer<typeof FabricKeys>;

/** `operatorSeed` is not part of the stored keys: it is shown once, to be kept offline. */
export function makeFabricKeys(): { keys: FabricKeys; operatorSeed: string } {
  // The private halves of the accounts' own keys are dropped: only signing keys sign users.
  const systemAccountPublicKey = makeNkey("account").publicKey;
  const accountPublicKey = makeNkey("account").publicKey;
  const { natsKeys, operatorSeed } = makeNatsKeys(systemAccountPublicKey);
  const keys = {
    ...natsKeys,
    systemAccountPublicKey,
    accountPublicKey,
    commandKey: makeSigningKey(),
  };
  return { keys: withStartAccounts(keys), operatorSeed };
}

export function makeNatsKeys(systemAccountPublicKey: string) {
  const operator = makeNkey("operator");
  const operatorSigning = makeNkey("operator");
  const operatorJwt = encodeClaims(operator, {
    subject: operator.publicKey,
    name: "hawser",
    issuedAt: Math.floor(Date.now() / 1000),
    grant: {
      type: "operator",
      signing_keys: [operatorSigning.publicKey],
      system_account: systemAccountPublicKey,
      // An account's own key signs no user, so a rotation ends every key that does.
      strict_signing_key_usage: true,
    },
  });
  const natsKeys: NatsKeys = {
    operatorJwt,
    operatorSigningSeed: operatorSigning.seed,
    systemAccountSeed: makeNkey("account").seed,
    nodeSigningSeed: makeNkey("account").seed,
    hostSigningSeed: makeNkey("account").seed,
  };
  return { natsKeys, operatorSeed: operator.seed };
}

/** Writes the accounts that nats-servers start with, for these keys. */
export function withStartAccounts(
  keys: Omit<FabricKeys, "systemAccountJwt" | "accountJwt">,
): FabricKeys {
  // Servers keep the newest account they have seen; these are older than every pushed one.
  return {
    ...keys,
    systemAccountJwt: systemAccount(keys, 1),
    accountJwt: encodeAccount(keys, signers(keys, "nodeSigningSeed"), {}, 1),
  };
}

/** The account that is pushed: accepts hosts, except those in the list. */
export function accountWithRevocations(
  keys: FabricKeys,
  revocations: Record<string, number>,
  issuedAt: number,
): string {
  const all = [...signers(keys, "nodeSigningSeed"), ...signers(keys, "hostSigningSeed")];
  return encodeAccount(keys, all, revocations, issuedAt);
}

type AccountKeys = Omit<FabricKeys, "systemAccountJwt" | "accountJwt">;

/** The system account, which accepts nodes. */
export function systemAccount(keys: AccountKeys, issuedAt: number): string {
  return encodeClaims(nkeyFromSeed(keys.operatorSigningSeed), {
    subject: keys.systemAccountPublicKey,
    name: "system",
    issuedAt,
    grant: {
      type: "account",
      limits: unlimited,
      signing_keys: signers(keys, "systemAccountSeed"),
    },
  });
}

/** The public halves of a key: of the one in use, and of the second one of a rotation. */
export function signers(
  keys: Pick<FabricKeys, "secondNatsKeys"> & Partial<NatsKeys>,
  name: keyof NatsKeys,
): string[] {
  return [keys[name], keys.secondNatsKeys?.[name]]
    .filter((seed) => seed !== undefined)
    .map((seed) => nkeyOf(seed).publicKey);
}

const nkeys = new Map<string, Nkey>();

/** The key of a stored seed. Parsed once: a process uses a few, for every token. */
export function nkeyOf(seed: string): Nkey {
  let nkey = nkeys.get(seed);
  if (!nkey) {
    if (nkeys.size > 100) nkeys.clear();
    nkeys.set(seed, (nkey = nkeyFromSeed(seed)));
  }
  return nkey;
}

function encodeAccount(
  keys: AccountKeys,
  signingKeys: string[],
  revocations: Record<string, number>,
  issuedAt: number,
): string {
  return encodeClaims(nkeyFromSeed(keys.operatorSigningSeed), {
    subject: keys.accountPublicKey,
    name: "hosts",
    issuedAt,
    grant: { type: "account", limits: unlimited, signing_keys: signingKeys, revocations },
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

/** Whether a text is the seed of the operator of these keys. */
export function isOperatorOf(keys: Pick<FabricKeys, "operatorJwt">, text: string): boolean {
  try {
    return nkeyFromSeed(text).publicKey === readSubject(keys.operatorJwt);
  } catch {
    return false;
  }
}

const secretName = "fabric";

/** The service's keys; undefined before `init-fabric`. */
export async function readFabricKeys(
  system: SystemSql,
  masterKeys: MasterKeys,
): Promise<FabricKeys | undefined> {
  const secret = await readSecret(system, masterKeys, secretName);
  return secret && readStored(secret).keys;
}

/**
 * A newer version may have stored more (decision 0047). `unknown` contains its fields, so that a change by
 * this version does not delete keys of that one.
 */
function readStored(secret: Buffer): { keys: FabricKeys; unknown: object } {
  const stored = JSON.parse(secret.toString()) as object;
  const unknown = Object.entries(stored).filter(([name]) => !Object.hasOwn(FabricKeys.shape, name));
  return { keys: received(FabricKeys).parse(stored), unknown: Object.fromEntries(unknown) };
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
      const { keys, unknown } = readStored(secret);
      const changed = await change(keys, tx);
      return Buffer.from(JSON.stringify({ ...unknown, ...changed }));
    });
    if (!isThere) throw new ConfigError("There is no fabric yet. Run init-fabric first.");
  });
}
