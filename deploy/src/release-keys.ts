// The two key pairs of releases. The first signs. The second is for replacing a lost or stolen first
// one; its private half belongs offline.
import { readFileSync, writeFileSync } from "node:fs";
import { makeSigningKey } from "@hawser/host-protocol";
import { z } from "zod";
import { ReleaseRefused } from "./release-refused.ts";

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
    throw new ReleaseRefused(
      "The private half of the second key is not in the file. Add it from where it is kept: the next release is signed with it.",
    );
  }
  return { keys: [{ publicKey, privateKey }, makeSigningKey()] };
}

/** Throws if the file exists: without the old keys, installed daemons could never be updated again. */
export function writeReleaseKeys(file: string, keys: ReleaseKeys): void {
  try {
    writeFileSync(file, `${JSON.stringify(keys, undefined, 2)}\n`, { mode: 0o600, flag: "wx" });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const why =
      code === "EEXIST"
        ? `${file} exists already and is not replaced: without the keys in it, installed daemons could never be updated again. Name another file.`
        : `The keys cannot be written to ${file}: ${message}. Name a file in a directory that exists and that you may write to.`;
    throw new ReleaseRefused(why, { cause });
  }
}

export const keepKeysSafe = (file: string) =>
  `${file} contains two pairs of keys. A person with one of the private keys can run programs on every host: keep the file off the control plane, and the second private key offline.`;

export function readReleaseKeys(file: string): ReleaseKeys {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    const why = `The keys in ${file} cannot be read: ${(cause as Error).message}. Name the file that --make-keys wrote.`;
    throw new ReleaseRefused(why, { cause });
  }
  const parsed = ReleaseKeys.safeParse(parseJson(text));
  if (parsed.success) return parsed.data;
  const why = `${file} does not contain two pairs of keys. Name the file that --make-keys wrote.`;
  throw new ReleaseRefused(why);
}

/** undefined if the text is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
