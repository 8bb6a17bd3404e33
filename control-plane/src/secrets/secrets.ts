// Secrets that the service stores for itself. Each is encrypted with the master key under its own name,
// so that it cannot be decrypted under another name.
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { ConfigError } from "../config.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { insertSecret, lockSecret, selectSecret, updateSecret } from "./store.ts";

/** The secret of this name, created at random when a node first asks for it. */
export async function randomSecret(
  system: SystemSql,
  masterKey: Buffer,
  name: string,
): Promise<Buffer> {
  await keepSecret(system, masterKey, name, randomBytes(32));
  return (await readSecret(system, masterKey, name))!;
}

/** The secret of this name; undefined if there is none. */
export async function readSecret(
  system: SystemSql,
  masterKey: Buffer,
  name: string,
): Promise<Buffer | undefined> {
  const row = await system.first(selectSecret, name);
  return row && unwrap(masterKey, name, row.wrapped);
}

/** Stores a secret. Returns false, and stores nothing, if the name is taken. */
export async function keepSecret(
  system: SystemSql,
  masterKey: Buffer,
  name: string,
  secret: Buffer,
): Promise<boolean> {
  const kept = await system.first(insertSecret, name, wrap(masterKey, name, secret));
  return kept !== undefined;
}

/** Replaces a secret by what `change` returns. Returns false if there is no secret of this name. */
export async function replaceSecret(
  tx: Pick<SystemSql, "first" | "rows">,
  masterKey: Buffer,
  name: string,
  change: (secret: Buffer) => Promise<Buffer>,
): Promise<boolean> {
  const row = await tx.first(lockSecret, name);
  if (!row) return false;
  const changed = await change(unwrap(masterKey, name, row.wrapped));
  await tx.rows(updateSecret, name, wrap(masterKey, name, changed));
  return true;
}

function wrap(masterKey: Buffer, name: string, secret: Buffer): Buffer {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", masterKey, nonce).setAAD(Buffer.from(name));
  const text = Buffer.concat([cipher.update(secret), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), text]);
}

function unwrap(masterKey: Buffer, name: string, wrapped: Buffer): Buffer {
  const cipher = createDecipheriv("aes-256-gcm", masterKey, wrapped.subarray(0, 12));
  cipher.setAAD(Buffer.from(name)).setAuthTag(wrapped.subarray(12, 28));
  try {
    return Buffer.concat([cipher.update(wrapped.subarray(28)), cipher.final()]);
  } catch (cause) {
    throw new ConfigError(
      `The secret ${name} cannot be decrypted with this master key. Start the node with the master key that encrypted it.`,
      { cause },
    );
  }
}
