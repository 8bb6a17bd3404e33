import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isBlobProofGood,
  isProofGood,
  isRenewGenuine,
  makeBlobProof,
  makeProof,
  makeRenewRequest,
} from "./doors.ts";
import { makeNkey } from "./nkey.ts";

const now = Date.UTC(2026, 10, 15);

test("a proof holds for its key, its host name and a minute either way", () => {
  const key = makeNkey("user");
  const proof = makeProof(key, "hawser.example", now);
  const good = (publicKey: string, host: string, at: number) =>
    isProofGood(publicKey, host, proof, at);
  assert.ok(good(key.publicKey, "hawser.example", now));
  assert.ok(good(key.publicKey, "hawser.example", now + 60_000));
  assert.ok(good(key.publicKey, "hawser.example", now - 60_000));
  assert.ok(!good(key.publicKey, "hawser.example", now + 60_001));
  assert.ok(!good(key.publicKey, "hawser.example", now - 60_001));
  assert.ok(!good(key.publicKey, "evil.example", now));
  assert.ok(!good(makeNkey("user").publicKey, "hawser.example", now));
});

test("what is no proof is refused, whatever its form", () => {
  const key = makeNkey("user");
  for (const bad of [
    "",
    ".",
    `${now}.`,
    `.${"A".repeat(86)}`,
    "x.y",
    `${now}`,
    `NaN.${"A".repeat(86)}`,
  ]) {
    assert.ok(!isProofGood(key.publicKey, "h", bad, now), bad);
  }
});

test("a proof for a blob is good for one method, host name and path, and for no link", () => {
  const key = makeNkey("user");
  const request = { method: "PUT", host: "hawser.example", path: "/api/hosts/blobs/aa" };
  const proof = makeBlobProof(key, request, now);
  const good = (other: Partial<typeof request>, at = now) =>
    isBlobProofGood(key.publicKey, { ...request, ...other }, proof, at);
  assert.ok(good({}));
  assert.ok(good({}, now + 60_000));
  assert.ok(!good({}, now + 60_001));
  assert.ok(!good({ method: "GET" }));
  assert.ok(!good({ host: "evil.example" }));
  assert.ok(!good({ path: "/api/hosts/blobs/ab" }));
  assert.ok(!isBlobProofGood(makeNkey("user").publicKey, request, proof, now));
  assert.ok(!isProofGood(key.publicKey, "hawser.example", proof, now));
});

test("a renewal is genuine only with the key it names and the nonce it received", () => {
  const key = makeNkey("user");
  const request = makeRenewRequest(key, "nonce");
  assert.ok(isRenewGenuine(request));
  assert.ok(!isRenewGenuine({ ...request, nonce: "other" }));
  assert.ok(!isRenewGenuine({ ...request, publicKey: makeNkey("user").publicKey }));
  assert.ok(!isRenewGenuine({ ...request, signature: "" }));
});
