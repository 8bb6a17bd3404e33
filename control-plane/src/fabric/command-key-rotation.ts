// The three steps that replace the key that signs commands. Each step is one change of the stored keys;
// nodes read it within seconds, and have every connected host pin the keys of the moment.
//
//   begin    a next key exists, and hosts pin it beside the present one
//   switch   the next key signs; the old key only brings back hosts that were away
//   finish   the old key is deleted, and hosts accept the new key alone
import { makeSigningKey } from "@hawser/host-protocol";
import type { FabricKeys } from "./fabric-keys.ts";
import { notBegun, refuseTooSoon, underWay, type RotationStep } from "./rotation-step.ts";

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
