// The three steps that replace the keys of NATS: operator, system account, and the keys that sign the users
// of nodes and hosts. The accounts themselves stay, so that links stay.
//
//   begin    next keys exist, and the accounts accept users of both; nats-servers are then restarted once,
//            to trust both operators
//   switch   the next keys sign accounts, nodes and hosts; nodes and hosts get new tokens
//   finish   the old keys are deleted, and no account accepts them
import { makeNatsKeys, withStartAccounts, type FabricKeys, type NatsKeys } from "./fabric-keys.ts";
import { notBegun, refuseTooSoon, underWay, type RotationStep } from "./rotation-step.ts";

/** Returns the keys after a step, and for `begin` the seed of the next operator. Throws a ConfigError. */
export function stepNatsKeys(
  keys: FabricKeys,
  step: RotationStep,
  now: Date,
): { keys: FabricKeys; operatorSeed?: string } {
  const { secondNatsKeys: second, ...rest } = keys;
  const since = now.toISOString();
  if (step === "begin") {
    if (second) throw underWay(second.stage === "next" ? "switch" : "finish");
    const { natsKeys, operatorSeed } = makeNatsKeys(keys.systemAccountPublicKey);
    const secondNatsKeys = { ...natsKeys, stage: "next" as const, since };
    return { keys: withStartAccounts({ ...keys, secondNatsKeys }), operatorSeed };
  }
  if (!second) throw notBegun();
  const { stage, since: lastStepAt, ...other } = second;
  if (step === "switch") {
    if (stage === "former") throw underWay("finish");
    const secondNatsKeys = { ...natsKeysOf(keys), stage: "former" as const, since };
    return { keys: withStartAccounts({ ...keys, ...other, secondNatsKeys }) };
  }
  if (stage === "next") throw underWay("switch");
  refuseTooSoon(lastStepAt, now);
  return { keys: withStartAccounts(rest) };
}

function natsKeysOf(keys: FabricKeys): NatsKeys {
  const { operatorJwt, operatorSigningSeed, systemAccountSeed, nodeSigningSeed, hostSigningSeed } =
    keys;
  return { operatorJwt, operatorSigningSeed, systemAccountSeed, nodeSigningSeed, hostSigningSeed };
}
