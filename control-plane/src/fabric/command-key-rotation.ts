// The three steps that replace the key that signs commands. Each step is one change of the stored keys;
// nodes read it within seconds, and have every connected host pin the keys of the moment.
//
//   begin    a next key exists, and hosts pin it beside the present one
//   switch   the next key signs; the former key only brings back hosts that were away
//   finish   the former key is deleted, and hosts accept the new key alone
import { makeSigningKey } from "@hawser/host-protocol";
import { ConfigError } from "../config.ts";
import type { FabricKeys } from "./fabric-keys.ts";
import { refreshKeysEveryMs } from "./keyring.ts";

export type RotationStep = "begin" | "switch" | "finish";

/** The public keys that hosts are to pin: the one that signs, and the second one of a rotation. */
export function commandKeysToPin({ commandKey, secondCommandKey }: FabricKeys): string[] {
  return [commandKey, secondCommandKey ?? []].flat().map(({ publicKey }) => publicKey);
}

/** Returns the keys after a step. Throws a ConfigError if it is not the step that comes next. */
export function stepCommandKey(keys: FabricKeys, step: RotationStep, now: Date): FabricKeys {
  const { commandKey, secondCommandKey: second } = keys;
  const since = now.toISOString();
  if (step === "begin") {
    if (second) throw underWay(second.stage === "next" ? "switch" : "finish");
    return { ...keys, secondCommandKey: { ...makeSigningKey(), stage: "next", since } };
  }
  if (!second) throw notBegun();
  if (step === "switch") {
    if (second.stage === "former") throw underWay("finish");
    const { publicKey, privateKey } = second;
    return {
      ...keys,
      commandKey: { publicKey, privateKey },
      secondCommandKey: { ...commandKey, stage: "former", since },
    };
  }
  if (second.stage === "next") throw underWay("switch");
  refuseTooSoon(second.since, now);
  const { secondCommandKey: _deleted, ...finished } = keys;
  return finished;
}

const underWay = (next: RotationStep) =>
  new ConfigError(`A rotation of this key is under way. Its next step is "${next}".`);

const notBegun = () => new ConfigError('No rotation of this key is under way. Start with "begin".');

/** Nodes may use the former key until they have read the keys again, for example to pair a host. */
function refuseTooSoon(since: string, now: Date): void {
  const passedMs = now.getTime() - Date.parse(since);
  const neededMs = 5 * refreshKeysEveryMs;
  if (passedMs >= neededMs) return;
  throw new ConfigError(
    `The last step was ${Math.round(passedMs / 1000)} s ago, and nodes may not know it yet. Wait ${neededMs / 1000} s.`,
  );
}
