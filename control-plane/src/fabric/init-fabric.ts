// `init-fabric` creates the keys of a new fabric and writes what a nats-server needs to start. `nats-config`
// writes the latter again.
//
// The keys in the database decide. `init-fabric` can be killed at any moment and run again: before the
// commit there is no fabric, and after it every missing file is written from the keys. Only the operator's
// seed is not in the database, so it is prepared before the commit and published after it.
import { mkdir } from "node:fs/promises";
import { join, resolve } from "node:path";
import { ConfigError } from "../config.ts";
import type { Database } from "../postgres/database.ts";
import { setUpAlone } from "../postgres/set-up-lock.ts";
import {
  prepareFile,
  preparedFile,
  publishFile,
  readIfThere,
  refuseExisting,
  replaceFile,
} from "../replace-file.ts";
import type { MasterKeys } from "../secrets/master-key.ts";
import {
  isOperatorOf,
  keepFabricKeys,
  makeFabricKeys,
  readFabricKeys,
  type FabricKeys,
} from "./fabric-keys.ts";
import { natsConfig, natsKeysConfig, natsKeysFile } from "./nats-config.ts";

export interface FabricPlace {
  directory: string;
  /** host:port each. */
  listen?: string | undefined;
  websocket?: string | undefined;
  /** "off": the server has no monitoring routes. */
  monitor?: string | undefined;
}

export interface NatsFiles {
  configFile: string;
  keysFile: string;
}

export interface InitializedFabric extends NatsFiles {
  /** Whether this run created the keys. */
  created: boolean;
  /** null if the operator's seed was moved away. */
  seedFile: string | null;
}

/** Creates the keys if there are none, and each file that is missing. */
export async function initFabric(
  database: Pick<Database, "systemTransaction">,
  masterKeys: MasterKeys,
  place: FabricPlace,
): Promise<InitializedFabric> {
  const plan = planFiles(place);
  const { configFile, keysFile } = plan;
  const seedFile = join(resolve(place.directory), "operator.seed");
  const { keys, created } = await setUpAlone(database, async (tx) => {
    const known = await readFabricKeys(tx, masterKeys);
    if (known) return { keys: known, created: false };
    for (const file of [seedFile, configFile, keysFile]) await refuseExisting(file);
    await makeDirectory(place.directory);
    const made = makeFabricKeys();
    await prepareFile(seedFile, `${made.operatorSeed}\n`);
    if (!(await keepFabricKeys(tx, masterKeys, made.keys))) {
      throw new ConfigError("Another process has created the keys meanwhile. Run this again.");
    }
    return { keys: made.keys, created: true };
  });
  return setUpAlone(database, async () => {
    await makeDirectory(place.directory);
    await writeMissing(plan, keys);
    const prepared = await readIfThere(preparedFile(seedFile));
    if (prepared !== undefined && isOperatorOf(keys, prepared.trim())) await publishFile(seedFile);
    const isSeedThere = (await readIfThere(seedFile)) !== undefined;
    return { created, configFile, keysFile, seedFile: isSeedThere ? seedFile : null };
  });
}

async function writeMissing({ configFile, keysFile, textOfConfig }: Plan, keys: FabricKeys) {
  const keysText = natsKeysConfig(keys);
  const present = await readIfThere(keysFile);
  if (present === undefined) await replaceFile(keysFile, keysText);
  else if (present !== keysText) {
    throw new ConfigError(
      `${keysFile} does not contain the keys of this service. Set --directory to another directory, or replace the file: hawser-control-plane nats-config.`,
    );
  }
  if ((await readIfThere(configFile)) === undefined) {
    await replaceFile(configFile, textOfConfig(keys));
  }
}

/** Replaces both files of a nats-server. Throws a ConfigError if there are no keys. */
export async function writeNatsConfig(
  database: Pick<Database, "systemTransaction">,
  masterKeys: MasterKeys,
  place: FabricPlace,
): Promise<NatsFiles> {
  const { configFile, keysFile, textOfConfig } = planFiles(place);
  return setUpAlone(database, async (tx) => {
    const keys = await readFabricKeys(tx, masterKeys);
    if (!keys) throw new ConfigError("There is no fabric yet. Run init-fabric first.");
    await makeDirectory(place.directory);
    await replaceFile(keysFile, natsKeysConfig(keys));
    await replaceFile(configFile, textOfConfig(keys));
    return { configFile, keysFile };
  });
}

interface Plan extends NatsFiles {
  textOfConfig: (keys: FabricKeys) => string;
}

/** Throws a ConfigError if an address is not one. */
function planFiles(place: FabricPlace): Plan {
  const directory = resolve(place.directory);
  const server = {
    name: "n1",
    listen: hostAndPort("listen", place.listen ?? "127.0.0.1:4222"),
    websocket: hostAndPort("websocket", place.websocket ?? "127.0.0.1:4280"),
    monitor:
      place.monitor === "off"
        ? undefined
        : hostAndPort("monitor", place.monitor ?? "127.0.0.1:8222"),
    storeDirectory: join(directory, "accounts"),
  };
  return {
    configFile: join(directory, "nats-server.conf"),
    keysFile: join(directory, natsKeysFile),
    textOfConfig: (keys) => natsConfig(keys, server),
  };
}

async function makeDirectory(directory: string): Promise<void> {
  await mkdir(resolve(directory), { recursive: true, mode: 0o700 }).catch((cause: Error) => {
    throw new ConfigError(`${directory} cannot be created: ${cause.message}.`, { cause });
  });
}

function hostAndPort(option: string, text: string): string {
  if (/^[^\s"\\]+:\d{1,5}$/.test(text)) return text;
  throw new ConfigError(`--${option} must be host:port, such as 127.0.0.1:4222.`);
}
