// Master keys that a test makes, without a file.
import { masterKeyOf, type MasterKeys } from "@hawser/control-plane/secrets/master-key.ts";

/** The last one encrypts. */
export function masterKeysOf(...keys: Buffer[]): MasterKeys {
  const all = keys.map(masterKeyOf);
  return { all: () => all, reload: () => Promise.resolve() };
}
