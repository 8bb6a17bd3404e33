// Secrets that the service stores for itself. Each is encrypted with a master key under its own name, so
// that it cannot be decrypted under another name. The id of the master key is stored beside it.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { ConfigError } from "../config.ts";
import type { Database } from "../postgres/database.ts";
import type { SystemSql } from "../postgres/statement.ts";
import type { MasterKey, MasterKeys } from "./master-key.ts";
import {
  insertSecret,
  lockAllSecrets,
  lockSecret,
  selectSecret,
  updateSecret,
  type StoredSecret,
} from "./store.ts";

/** The secret of this name, created at random when a node first asks for it. */
export async function randomSecret(
  system: SystemSql,
  masterKeys: MasterKeys,
  name: string,
): Promise<Buffer> {
  await keepSecret(system, masterKeys, name, randomBytes(32));
  return (await readSecret(system, masterKeys, name))!;
}

/** The secret of this name; undefined if there is none. */
export async function readSecret(
  system: SystemSql,
  masterKeys: MasterKeys,
  name: string,
): Promise<Buffer | undefined> {
  const row = await system.first(selectSecret, name);
  return row && unwrap(masterKeys, row);
}

/** Stores a secret. Returns false, and stores nothing, if the name is taken. */
export async function keepSecret(
  system: SystemSql,
  masterKeys: MasterKeys,
  name: string,
  secret: Buffer,
): Promise<boolean> {
  const key = encryptingKey(masterKeys);
  const kept = await system.first(insertSecret, name, wrap(key, name, secret), key.id);
  return kept !== undefined;
}

/** Replaces a secret by what `change` returns. Returns false if there is no secret of this name. */
export async function replaceSecret(
  tx: Pick<SystemSql, "first" | "rows">,
  masterKeys: MasterKeys,
  name: string,
  change: (secret: Buffer) => Promise<Buffer>,
): Promise<boolean> {
  const row = await tx.first(lockSecret, name);
  if (!row) return false;
  const changed = await change(await unwrap(masterKeys, row));
  const key = encryptingKey(masterKeys);
  await tx.rows(updateSecret, name, wrap(key, name, changed), key.id);
  return true;
}

/** Encrypts every secret with the newest master key. Returns how many secrets there are. */
export function rewrapSecrets(
  database: Pick<Database, "systemTransaction">,
  masterKeys: MasterKeys,
): Promise<number> {
  const key = encryptingKey(masterKeys);
  return database.systemTransaction(async (tx) => {
    const rows = await tx.rows(lockAllSecrets);
    for (const row of rows) {
      const secret = await unwrap(masterKeys, row);
      await tx.rows(updateSecret, row.name, wrap(key, row.name, secret), key.id);
    }
    return rows.length;
  });
}

const encryptingKey = (masterKeys: MasterKeys) => masterKeys.all().at(-1)!;

function wrap({ key }: MasterKey, name: string, secret: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(name));
  const text = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

async function unwrap(masterKeys: MasterKeys, row: StoredSecret): Promise<Buffer> {
  const { name, wrapped, master_key_id: id } = row;
  const fits = (key: MasterKey) => id === null || id === key.id;
  // A rotation may have added a key since the keys were read.
  if (!masterKeys.all().some(fits)) await masterKeys.reload();
  let cause: unknown;
  for (const { key } of masterKeys.all().filter(fits)) {
    const cipher = createDecipheriv("aes-256-gcm", key, wrapped.subarray(0, 12));
    cipher.setAAD(Buffer.from(name)).setAuthTag(wrapped.subarray(12, 28));
    try {
      return Buffer.concat([cipher.update(wrapped.subarray(28)), cipher.final()]);
    } catch (error) {
      cause = error;
    }
  }
  throw new ConfigError(
    `The secret ${name} cannot be decrypted with this master key. Start the node with the master key that encrypted it${id === null ? "" : `, which has the id ${id}`}.`,
    { cause },
  );
}
