import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createChallenges } from "./challenges.ts";

test("a challenge is good for its purpose, until its end, and as it was sealed", () => {
  let now = 1_000_000;
  const challenges = createChallenges(randomBytes(32), () => now);
  const sealed = challenges.seal("passkey", "abc_-1", 300);
  assert.equal(challenges.open("passkey", sealed), "abc_-1");
  assert.equal(challenges.open("new_passkey", sealed), undefined);
  assert.equal(challenges.open("passkey", sealed.replace("abc", "abd")), undefined);
  for (const text of ["", ".", "passkey.abc_-1.9999999999999", "passkey.abc_-1.9999999999999."]) {
    assert.equal(challenges.open("passkey", text), undefined, text);
  }
  assert.equal(createChallenges(randomBytes(32), () => now).open("passkey", sealed), undefined);
  now += 300_000;
  assert.equal(challenges.open("passkey", sealed), undefined);
});
