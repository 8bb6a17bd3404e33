// The fabric's keys as a running node uses them. They change while it runs: a rotation writes them to the
// database, and every node reads them again within seconds.
import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../config.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { readFabricKeys, type FabricKeys } from "./fabric-keys.ts";

export interface Keyring {
  /** Always the same object. `refresh` changes it, so read from it at each use. */
  keys: FabricKeys;
  /** Reads the keys from the database. Returns whether they have changed. */
  refresh(): Promise<boolean>;
}

/** How often nodes call `refresh`. */
export const refreshKeysEveryMs = 2_000;

/** Throws a ConfigError if the service has no fabric. */
export async function openKeyring(system: SystemSql, masterKeys: MasterKeys): Promise<Keyring> {
  const read = async () => {
    const found = await readFabricKeys(system, masterKeys);
    if (found) return found;
    throw new ConfigError('There is no fabric yet. Run "hawser-control-plane init-fabric" first.');
  };
  const keys = await read();
  return {
    keys,
    async refresh() {
      const found = await read();
      if (isDeepStrictEqual(found, keys)) return false;
      // The parts of a rotation that is finished are missing in what was found.
      delete keys.secondCommandKey;
      delete keys.secondNatsKeys;
      Object.assign(keys, found);
      return true;
    },
  };
}
