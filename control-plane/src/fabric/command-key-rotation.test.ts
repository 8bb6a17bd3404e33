// The steps that replace the command key: their order, and which keys hosts are to pin after each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ConfigError } from "../config.ts";
import { commandKeysToPin, stepCommandKey } from "./command-key-rotation.ts";
import { makeFabricKeys } from "./fabric-keys.ts";

const now = new Date("2026-01-01T00:00:00Z");
const later = new Date("2026-01-01T00:00:10Z");

test("A14: a command key is replaced in three steps, and hosts always pin the key that signs", () => {
  const { keys } = makeFabricKeys();
  const first = keys.commandKey.publicKey;
  const begun = stepCommandKey(keys, "begin", now);
  const second = begun.secondCommandKey!.publicKey;
  assert.equal(begun.commandKey.publicKey, first);
  assert.deepEqual(commandKeysToPin(begun), [first, second]);
  const switched = stepCommandKey(begun, "switch", now);
  assert.equal(switched.commandKey.publicKey, second);
  assert.deepEqual(commandKeysToPin(switched), [second, first]);
  const finished = stepCommandKey(switched, "finish", later);
  assert.deepEqual(commandKeysToPin(finished), [second]);
  assert.ok(!JSON.stringify(finished).includes(keys.commandKey.privateKey), "deleted");
});

test("a step that does not come next is refused and names the next one", () => {
  const { keys } = makeFabricKeys();
  const begun = stepCommandKey(keys, "begin", now);
  const switched = stepCommandKey(begun, "switch", now);
  const refused = [
    [keys, "switch", /Start with "begin"/],
    [keys, "finish", /Start with "begin"/],
    [begun, "begin", /next step is "switch"/],
    [begun, "finish", /next step is "switch"/],
    [switched, "begin", /next step is "finish"/],
    [switched, "switch", /next step is "finish"/],
  ] as const;
  for (const [from, step, message] of refused) {
    assert.throws(
      () => stepCommandKey(from, step, later),
      (error) => error instanceof ConfigError && message.test(error.message),
    );
  }
  // A node may pair a host with the old key until it has read the keys again.
  assert.throws(() => stepCommandKey(switched, "finish", now), /nodes may not know it yet/);
});
