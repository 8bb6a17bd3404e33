// The fabric's keys as a running node uses them. They change while it runs: a rotation writes them to the
// database, and every node reads them again within seconds.
import { isDeepStrictEqual } from "node:util";
import { ConfigError } from "../config.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { readFabricKeys, type FabricKeys } from "./fabric-keys.ts";

export interface Keyring {
  current(): FabricKeys;
  /** Reads the keys from the database. */
  refresh(): Promise<void>;
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
  let keys = await read();
  return {
    current: () => keys,
    async refresh() {
      const found = await read();
      if (!isDeepStrictEqual(found, keys)) keys = found;
    },
  };
}
