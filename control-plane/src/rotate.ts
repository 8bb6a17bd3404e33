// `rotate KEY STEP`: replaces a key of the service while hosts are connected. It changes what the database
// stores; the nodes do the rest. A step that would lose hosts is refused and names them.
import { formatId } from "@hawser/contract";
import { ConfigError } from "./config.ts";
import { stepCommandKey } from "./fabric/command-key-rotation.ts";
import { changeFabricKeys, type FabricKeys } from "./fabric/fabric-keys.ts";
import type { RotationStep } from "./fabric/rotation-step.ts";
import {
  revokeHostsWithoutKey,
  selectHostsWithoutKey,
  type HostWithoutKey,
} from "./instances/host-key-store.ts";
import type { Database } from "./postgres/database.ts";
import type { MasterKeys } from "./secrets/master-key.ts";
import { rewrapSecrets } from "./secrets/secrets.ts";
import type { SystemSql } from "./postgres/statement.ts";

export interface Rotation {
  database: Database;
  masterKeys: MasterKeys;
  step: RotationStep;
  /** Carries on although some hosts do not know the new key. They are removed at the last step. */
  leaveBehind: boolean;
}

/** Returns what the operator does next. Throws a ConfigError if the step is not possible now. */
export async function rotateCommandKey(rotation: Rotation): Promise<string> {
  const { database, masterKeys, step, leaveBehind } = rotation;
  let left: HostWithoutKey[] = [];
  await changeFabricKeys(database, masterKeys, async (keys, tx) => {
    const changed = stepCommandKey(keys, step, new Date());
    const key = newCommandKey(keys, step);
    if (!leaveBehind) await refuseLosingHosts(tx, step, key);
    if (leaveBehind && step === "finish") {
      left = await tx.rows(selectHostsWithoutKey, key);
      await tx.rows(revokeHostsWithoutKey, key);
    }
    return changed;
  });
  const removed =
    left.length === 0
      ? []
      : [
          "These hosts do not have the new key and were removed:",
          ...linesOf(left),
          "To use them, pair them again with a token from regenerate_pairing_token.",
        ];
  const done = {
    begin: "Connected hosts now pin the next key beside the present one. Next step: switch.",
    switch:
      "Commands are now signed by the new key. The old key only brings back hosts that were away. Next step, once they are back: finish.",
    finish: "The old key is deleted. Hosts accept the new key alone.",
  }[step];
  return [done, ...removed].join("\n");
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
  throw new ConfigError(
    [
      "These hosts have not pinned the new key:",
      ...linesOf(without),
      "Run the step again after some seconds; a connected host needs no longer, unless its daemon must be updated first. Only if they never come back: --leave-behind does the step without them. At the last step they are removed, and must be paired again.",
    ].join("\n"),
  );
}

/** A line for each host, for at most 20. */
function linesOf(hosts: HostWithoutKey[]): string[] {
  const lines = hosts.slice(0, 20).map(({ instance_id, name, online }) => {
    return `  ${formatId("instance", instance_id)}  ${online ? "online " : "offline"}  ${name}`;
  });
  return hosts.length > lines.length
    ? [...lines, `  and ${hosts.length - lines.length} more`]
    : lines;
}
