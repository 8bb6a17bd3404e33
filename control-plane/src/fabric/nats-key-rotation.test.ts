// The steps that replace the keys of NATS: what the accounts accept after each, and what is deleted.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeNkey } from "@hawser/host-protocol";
import { accountWithRevocations, makeFabricKeys, signers, systemAccount } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";
import { natsKeysConfig } from "./nats-config.ts";
import { stepNatsKeys } from "./nats-key-rotation.ts";

const now = new Date("2026-01-01T00:00:00Z");
const later = new Date("2026-01-01T00:00:10Z");

interface Account {
  iss: string;
  nats: { signing_keys: string[] };
}
const read = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as Account;

test("A14: accounts accept both keys during a rotation of NATS, and afterwards the new ones alone", () => {
  const first = makeFabricKeys().keys;
  const begun = stepNatsKeys(first, "begin", now).keys;
  const switched = stepNatsKeys(begun, "switch", now).keys;
  const finished = stepNatsKeys(switched, "finish", later).keys;
  const accepted = (keys: typeof first) =>
    read(accountWithRevocations(keys, {}, 1)).nats.signing_keys.length +
    read(systemAccount(keys, 1)).nats.signing_keys.length;
  assert.deepEqual([first, begun, switched, finished].map(accepted), [3, 6, 6, 3]);

  const operators = (keys: typeof first) =>
    natsKeysConfig(keys)
      .match(/operator: (.*)/)![1]!
      .split(",").length;
  assert.deepEqual([first, begun, switched, finished].map(operators), [1, 2, 2, 1]);
  const [former] = signers(first, "operatorSigningSeed");
  const issuers = [first, begun, switched, finished].map((keys) => read(keys.accountJwt).iss);
  assert.deepEqual(
    issuers.map((issuer) => issuer === former),
    [true, true, false, false],
  );

  for (const seed of [
    "operatorSigningSeed",
    "systemAccountSeed",
    "nodeSigningSeed",
    "hostSigningSeed",
  ] as const) {
    assert.notEqual(finished[seed], first[seed]);
    assert.ok(!JSON.stringify(finished).includes(first[seed]), `${seed} is deleted`);
  }
  assert.equal(finished.accountPublicKey, first.accountPublicKey, "links stay in their account");
});

test("A14: host tokens of both keys are valid during a rotation", () => {
  const first = makeFabricKeys().keys;
  const begun = stepNatsKeys(first, "begin", now).keys;
  const switched = stepNatsKeys(begun, "switch", now).keys;
  const finished = stepNatsKeys(switched, "finish", later).keys;
  const { publicKey } = makeNkey("user");
  const mint = (keys: typeof first) => createHostTokens(keys, 3600).mint("ins_a", publicKey).token;
  const isValid = (keys: typeof first, token: string) =>
    createHostTokens(keys, 3600).read(token, Date.now()) !== undefined;
  const [former, next] = [mint(begun), mint(switched)];
  assert.deepEqual(
    [first, begun, switched, finished].map((keys) => isValid(keys, former)),
    [true, true, true, false],
  );
  assert.deepEqual(
    [first, begun, switched, finished].map((keys) => isValid(keys, next)),
    [false, true, true, true],
  );
});
