import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createSealing } from "./sealing.ts";

test("a sealed text opens with the same secret at the same place, unchanged", () => {
  const secret = randomBytes(32);
  const sealing = createSealing(secret);
  const sealed = sealing.seal("state", "the text");
  assert.equal(createSealing(secret).open("state", sealed), "the text");
  assert.equal(sealing.open("refresh token", sealed), undefined);
  assert.equal(createSealing(randomBytes(32)).open("state", sealed), undefined);
  assert.ok(!sealed.includes("the text"));
  assert.notDeepEqual(sealing.seal("state", "the text"), sealed);
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at]! ^= 1;
    assert.equal(sealing.open("state", changed), undefined, String(at));
    assert.equal(sealing.open("state", sealed.subarray(0, at)), undefined, String(at));
  }
});
