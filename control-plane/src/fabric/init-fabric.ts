// `init-fabric`: creates the keys of a new fabric, once, and writes what a nats-server needs to start.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError } from "../config.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { keepFabricKeys, makeFabricKeys, readFabricKeys } from "./fabric-keys.ts";
import { natsConfig, natsKeysConfig, natsKeysFile } from "./nats-config.ts";

export interface FabricPlace {
  directory: string;
  /** host:port each. */
  listen?: string | undefined;
  websocket?: string | undefined;
  monitor?: string | undefined;
}

const alreadyThere =
  "This service has a fabric already. Its keys are in the database, and hosts depend on them.";

export async function initFabric(
  system: SystemSql,
  masterKeys: MasterKeys,
  place: FabricPlace,
): Promise<{ configFile: string; seedFile: string }> {
  if (await readFabricKeys(system, masterKeys)) throw new ConfigError(alreadyThere);
  const directory = resolve(place.directory);
  const { keys, operatorSeed } = makeFabricKeys();
  const config = natsConfig(keys, {
    name: "n1",
    listen: hostAndPort("listen", place.listen ?? "127.0.0.1:4222"),
    websocket: hostAndPort("websocket", place.websocket ?? "127.0.0.1:4280"),
    monitor: hostAndPort("monitor", place.monitor ?? "127.0.0.1:8222"),
    storeDirectory: join(directory, "accounts"),
  });
  const configFile = join(directory, "nats-server.conf");
  const keysFile = join(directory, natsKeysFile);
  const seedFile = join(directory, "operator.seed");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  // Write the files first: keys without files could never be used, and could not be created again.
  await writeNew(seedFile, `${operatorSeed}\n`);
  try {
    await writeNew(configFile, config);
    try {
      await writeNew(keysFile, natsKeysConfig(keys));
      if (!(await keepFabricKeys(system, masterKeys, keys))) throw new ConfigError(alreadyThere);
    } catch (error) {
      await Promise.all([configFile, keysFile].map((file) => rm(file, { force: true })));
      throw error;
    }
  } catch (error) {
    await rm(seedFile);
    throw error;
  }
  return { configFile, seedFile };
}

function hostAndPort(option: string, text: string): string {
  if (/^[^\s"\\]+:\d{1,5}$/.test(text)) return text;
  throw new ConfigError(`--${option} must be host:port, such as 127.0.0.1:4222.`);
}

/** Throws a ConfigError if the file exists. */
export async function writeNew(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600, flag: "wx" }).catch((cause: NodeJS.ErrnoException) => {
    const why =
      cause.code === "EEXIST"
        ? "it is there already. Move it to another place, then run this again"
        : cause.message;
    throw new ConfigError(`${file} cannot be written: ${why}.`, { cause });
  });
}
