// `rotate KEY STEP`: replaces a key of the service while hosts are connected. It changes what the database
// stores; the nodes do the rest. A step that would lose hosts is refused and names them.
import { formatId } from "@hawser/contract";
import { ConfigError } from "./config.ts";
import { stepCommandKey } from "./fabric/command-key-rotation.ts";
import { changeFabricKeys, type FabricKeys } from "./fabric/fabric-keys.ts";
import type { RotationStep } from "./fabric/rotation-step.ts";
import { selectHostsWithoutKey } from "./instances/host-key-store.ts";
import type { Database } from "./postgres/database.ts";
import type { MasterKeys } from "./secrets/master-key.ts";
import { rewrapSecrets } from "./secrets/secrets.ts";
import type { SystemSql } from "./postgres/statement.ts";

export interface Rotation {
  database: Database;
  masterKeys: MasterKeys;
  step: RotationStep;
  /** Carries on although some hosts do not know the new key. They must be paired again. */
  leaveBehind: boolean;
}

/** Returns what the operator does next. Throws a ConfigError if the step cannot be taken now. */
export async function rotateCommandKey(rotation: Rotation): Promise<string> {
  const { database, masterKeys, step, leaveBehind } = rotation;
  await changeFabricKeys(database, masterKeys, async (keys, tx) => {
    const changed = stepCommandKey(keys, step, new Date());
    if (!leaveBehind) await refuseLosingHosts(tx, step, newCommandKey(keys, step));
    return changed;
  });
  return {
    begin: "Connected hosts now pin the next key beside the present one. Next step: switch.",
    switch:
      "Commands are now signed by the new key. The former key only brings back hosts that were away. Next step, once they are back: finish.",
    finish: "The former key is deleted. Hosts accept the new key alone.",
  }[step];
}

/** Encrypts every secret with the newer master key. Returns what the operator does next. */
export async function rotateMasterKey(database: Database, masterKeys: MasterKeys): Promise<string> {
  const [former, next] = masterKeys.all();
  if (!former || !next) {
    throw new ConfigError(
      "There is one master key. Append the next one to it as a second line, on every node, and run this again.",
    );
  }
  const count = await rewrapSecrets(database, masterKeys);
  return `${count} secrets are encrypted with the master key ${next.id}. Remove the line of ${former.id}, the first one, on every node.`;
}

/** The key that hosts must have pinned before a step; undefined if they need none. */
function newCommandKey(keys: FabricKeys, step: RotationStep): string | undefined {
  if (step === "begin") return undefined;
  return step === "switch" ? keys.secondCommandKey?.publicKey : keys.commandKey.publicKey;
}

/** Before the switch every connected host must have the new key; before the end, every host. */
async function refuseLosingHosts(
  tx: Pick<SystemSql, "rows">,
  step: RotationStep,
  key: string | undefined,
): Promise<void> {
  if (key === undefined) return;
  const without = (await tx.rows(selectHostsWithoutKey, key)).filter(
    ({ online }) => step === "finish" || online,
  );
  if (without.length === 0) return;
  const named = without.slice(0, 20).map(({ instance_id, name, online }) => {
    return `  ${formatId("instance", instance_id)}  ${online ? "online " : "offline"}  ${name}`;
  });
  const more = without.length > named.length ? [`  and ${without.length - named.length} more`] : [];
  throw new ConfigError(
    [
      `${without.length} hosts have not pinned the new key:`,
      ...named,
      ...more,
      "Wait until they have; an online host takes seconds, unless its daemon must be updated first. With --leave-behind the step is taken, and hosts without the new key must be paired again.",
    ].join("\n"),
  );
}
