// The two key pairs of releases. The first signs. The second is for replacing a lost or stolen first
// one; its private half belongs offline.
import { readFileSync, writeFileSync } from "node:fs";
import { makeSigningKey } from "@hawser/host-protocol";
import { z } from "zod";

const key = z.string().regex(/^[A-Za-z0-9+/]{43}=$/);
const ReleaseKeys = z.strictObject({
  keys: z.tuple([
    z.strictObject({ publicKey: key, privateKey: key }),
    z.strictObject({ publicKey: key, privateKey: key.optional() }),
  ]),
});
export type ReleaseKeys = z.infer<typeof ReleaseKeys>;

export function makeReleaseKeys(): ReleaseKeys {
  return { keys: [makeSigningKey(), makeSigningKey()] };
}

/**
 * Drops one pair, and adds a new one that later releases can be signed with. The kept pair signs: daemons
 * that are installed trust it already, and so do those of the next release. Throws if its private half
 * is missing.
 */
export function nextReleaseKeys(
  { keys: [first, second] }: ReleaseKeys,
  drop: "first" | "second",
): ReleaseKeys {
  const { publicKey, privateKey } = drop === "first" ? second : first;
  if (privateKey === undefined) {
    throw new Error(
      "The private half of the second key is not in the file. Add it from where it is kept: the next release is signed with it.",
    );
  }
  return { keys: [{ publicKey, privateKey }, makeSigningKey()] };
}

/** Throws if the file exists: without the old keys, installed daemons could never be updated again. */
export function writeReleaseKeys(file: string, keys: ReleaseKeys): void {
  writeFileSync(file, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
}

export function readReleaseKeys(file: string): ReleaseKeys {
  const parsed = ReleaseKeys.safeParse(JSON.parse(readFileSync(file, "utf8")));
  if (!parsed.success) {
    throw new Error(`${file} does not hold two pairs of keys. Make them with --make-keys ${file}.`);
  }
  return parsed.data;
}
