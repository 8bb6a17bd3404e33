// Keys made by NATS's own library, for no server anywhere: ours must read, write and sign the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isPublicNkey,
  isSignedBy,
  makeNkey,
  makeSigningKey,
  nkeyFromSeed,
  signWith,
  verifyNkey,
} from "./nkey.ts";

const foreign = [
  {
    kind: "user",
    seed: "SUAD4EPMRFFU5TVTRRYOQ7N57FXNYPBIKOAXYFO6K2Y7VQ47I6AU3VT7XE",
    publicKey: "UA6RKY2YLX57B4BUTTC35DLXJRFXIC37DAO7P4YJYQ5SYM7NCMISP2EZ",
    signature:
      "PwizzeVftsldxR16aaMYltGen27/S0Gm5KtgFZTQYmfwApBzWWXG8W9dzOBd3tZeQy4bewj107dfCAGz6lxFCA==",
  },
  {
    kind: "account",
    seed: "SAABG2XVQ7GKTM3N4KIGUX5SLDAAJI6M3TT3PQOXGKAQQVHJEIRABBQBPE",
    publicKey: "AARA2SEECCIS4H4ULABLLEEJSDG3N64IHAPFMIS6PD2HC5KHVCO5WJCH",
    signature:
      "FOPxOE3hikJfG7CvcHQ+eQkYVzD40vuMUn+6o8l50C7YqMkOKUAeP3fo+zR0vC3v5zMM8UmlyVPy80e01MJrCg==",
  },
  {
    kind: "operator",
    seed: "SOAKMEVF7PSDJ3BTEESDCJ2S7KQMFEZXANB64UOFCZWNFNCEZTQI5BLCYY",
    publicKey: "OBD6PQ6XZRKLLI7B2RZF3NRYIABD7ZGYIGBQL2GZJZSR3XFJ75R33DHO",
    signature:
      "utEQ13K7npM0Mq+GY1nNuhBzEv1/sepe4+FKn3jQjI4tK8vvEjtKkHKG5u1cGLy9m2LOdbluv4aDXqHZwXXtAA==",
  },
] as const;

for (const { kind, seed, publicKey, signature } of foreign) {
  test(`a key of the kind ${kind} made elsewhere is read and used as it is there`, () => {
    const key = nkeyFromSeed(seed);
    assert.equal(key.publicKey, publicKey);
    assert.equal(key.seed, seed);
    // Ed25519 signatures are determined by key and text.
    assert.equal(key.sign("hawser").toString("base64"), signature);
    assert.ok(verifyNkey(kind, publicKey, "hawser", Buffer.from(signature, "base64")));
    assert.ok(!verifyNkey(kind, publicKey, "other", Buffer.from(signature, "base64")));
  });
}

test("a key is what its first letter says, and a mistyped one is none", () => {
  const { publicKey, seed } = makeNkey("user");
  assert.match(publicKey, /^U/);
  assert.match(seed, /^SU/);
  assert.ok(isPublicNkey("user", publicKey));
  assert.ok(!isPublicNkey("account", publicKey));
  for (let i = 0; i < publicKey.length; i++) {
    const changed =
      publicKey.slice(0, i) + (publicKey[i] === "A" ? "B" : "A") + publicKey.slice(i + 1);
    assert.ok(!isPublicNkey("user", changed), `changed at ${i}`);
  }
  const spelledOtherwise = ["A", "B", "7"].map((letter) => publicKey + letter);
  for (const bad of [
    "",
    "U",
    "nonsense",
    publicKey.toLowerCase(),
    seed,
    "A".repeat(200),
    ...spelledOtherwise,
  ]) {
    assert.ok(!isPublicNkey("user", bad), bad);
    if (bad !== seed) assert.throws(() => nkeyFromSeed(bad));
  }
});

test("a bare key signs, and only its own texts verify", () => {
  const { publicKey, privateKey } = makeSigningKey();
  const signature = signWith(privateKey, "text");
  assert.ok(isSignedBy(publicKey, "text", signature));
  assert.ok(!isSignedBy(publicKey, "texts", signature));
  assert.ok(!isSignedBy(makeSigningKey().publicKey, "text", signature));
  for (const bad of ["", "AAAA", signature.slice(1)])
    assert.ok(!isSignedBy(publicKey, "text", bad));
});
