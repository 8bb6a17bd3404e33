// `rotate nats-keys STEP`: replaces the keys of NATS while hosts are connected. Each step writes the file
// with the keys that nats-servers trust; begin also writes the next operator's seed.
import { join, resolve } from "node:path";
import { z } from "zod";
import { ConfigError } from "./config.ts";
import { UnknownToNats } from "./fabric/account.ts";
import { connectFabric } from "./fabric/connection.ts";
import { changeFabricKeys, signers, type FabricKeys } from "./fabric/fabric-keys.ts";
import { natsKeysConfig, natsKeysFile } from "./fabric/nats-config.ts";
import { stepNatsKeys } from "./fabric/nats-key-rotation.ts";
import { selectFormerTokens } from "./instances/host-key-store.ts";
import { createLog } from "./log.ts";
import { replaceFile, writeNew } from "./replace-file.ts";
import type { Rotation } from "./rotate.ts";

export interface NatsRotation extends Rotation {
  /** Where the files are written. */
  directory: string;
  /** The nats-servers. */
  urls: string[];
}

/** Returns what the operator does next. Throws a ConfigError if the step is not possible now. */
export async function rotateNatsKeys(rotation: NatsRotation): Promise<string> {
  const { database, masterKeys, step, leaveBehind, urls } = rotation;
  const directory = resolve(rotation.directory);
  const keysFile = join(directory, natsKeysFile);
  await changeFabricKeys(database, masterKeys, async (keys, tx) => {
    const changed = stepNatsKeys(keys, step, new Date());
    if (step === "switch") await refuseUntrusted(changed.keys, urls);
    if (step === "finish" && !leaveBehind) {
      const former = await tx.rows(selectFormerTokens, signers(keys, "hostSigningSeed")[0]);
      if (former.length > 0) throw stillFormer(former.length);
    }
    if (changed.operatorSeed) {
      await writeNew(join(directory, "operator.seed"), `${changed.operatorSeed}\n`);
    }
    await replaceFile(keysFile, natsKeysConfig(changed.keys));
    return changed.keys;
  });
  return {
    begin: `Copy ${keysFile} to every nats-server and restart them, one after the other. Write new edge files. Next step: switch.`,
    switch: `Nodes and connected hosts now get tokens of the new keys. Copy ${keysFile} to every nats-server; no restart is needed yet. Next step: finish.`,
    finish: `The old keys are deleted. Copy ${keysFile} to every nats-server and restart them, one after the other.`,
  }[step];
}

/**
 * Checks that every nats-server trusts the next operator, and accepts the users of the next keys. A server
 * stores an account even if it does not trust its operator, so this cannot be tried by pushing one.
 */
async function refuseUntrusted(keys: FabricKeys, urls: string[]): Promise<void> {
  const log = createLog("silent");
  for (const url of urls) {
    const fabric = await connectFabric({ keys, urls: [url], name: "rotation", log }).catch(
      (cause: unknown) => {
        if (!(cause instanceof UnknownToNats)) throw cause;
        throw new ConfigError(
          `The nats-server at ${url} does not accept the next keys yet. Copy ${natsKeysFile} to it and restart it, if you have not. A running node then sends it the new accounts within seconds; run this step again.`,
          { cause },
        );
      },
    );
    try {
      const answers = await fabric.system.requestMany("$SYS.REQ.SERVER.PING.VARZ", "", {
        timeoutMs: patienceMs,
      });
      for (const answer of answers) {
        const { server, data } = Varz.parse(JSON.parse(Buffer.from(answer).toString()));
        if (data.trusted_operators_jwt.includes(keys.operatorJwt)) continue;
        throw new ConfigError(
          `The nats-server ${server.name} does not trust the next operator. Copy ${natsKeysFile} to it and restart it.`,
        );
      }
    } finally {
      await fabric.close();
    }
  }
}

const patienceMs = 2_000;
const Varz = z.object({
  server: z.object({ name: z.string() }),
  data: z.object({ trusted_operators_jwt: z.array(z.string()).default([]) }),
});

const stillFormer = (count: number) =>
  new ConfigError(
    `${count} connected hosts still use a token of the old keys. They get a new one within seconds, unless their daemon must be updated first. With --leave-behind the step is carried out; such a host is disconnected for a moment, and comes back with a new token.`,
  );
