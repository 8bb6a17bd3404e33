// The signatures of deliveries, made by the senders' own libraries and by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { githubDelivery, standardDelivery } from "@hawser/testkit/webhook-sender.ts";
import { makeSalt, secretOf } from "./secret.ts";
import * as signatures from "./signatures.ts";

const { isSignedByGithub, objectToStandardWebhook } = signatures;

/** As a delivery is checked, in three steps. */
const isStandardWebhook = (
  key: string,
  headers: signatures.Headers,
  body: Buffer,
  nowSeconds: number,
) =>
  signatures.looksLikeStandardWebhook(headers) &&
  signatures.isStandardWebhook(key, headers, body) &&
  objectToStandardWebhook(headers, nowSeconds) === null;

const service = Buffer.alloc(32, 1);
const secret = secretOf(service, makeSalt());
const other = secretOf(service, makeSalt());
const now = 1_800_000_000;
const at = new Date(now * 1000);

test("GitHub's own example is accepted", () => {
  // From GitHub's page "Validating webhook deliveries".
  const signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
  const headers = { "x-hub-signature-256": signature };
  const body = Buffer.from("Hello, World!");
  assert.equal(isSignedByGithub("It's a Secret to Everybody", headers, body), true);
  assert.equal(isSignedByGithub("It's a secret to everybody", headers, body), false);
});

test("a signature of GitHub holds for these bytes and this secret only", () => {
  const { headers, body } = githubDelivery(secret, "ping", { zen: "ü" });
  const bytes = Buffer.from(body);
  assert.equal(isSignedByGithub(secret, headers, bytes), true);
  assert.equal(isSignedByGithub(other, headers, bytes), false);
  assert.equal(isSignedByGithub(secret, headers, Buffer.concat([bytes, Buffer.from(" ")])), false);
  const own = headers["x-hub-signature-256"]!;
  const wrong = [undefined, "", own.slice(7), own.slice(0, -2), `${own}00`, own.toUpperCase()];
  for (const signature of [...wrong, `sha1=${own.slice(7)}`]) {
    const changed = { ...headers, "x-hub-signature-256": signature };
    assert.equal(isSignedByGithub(secret, changed, bytes), false, signature);
  }
  assert.equal(isSignedByGithub(secret, { "x-hub-signature-256": [own, own] }, bytes), false);
});

test("a Standard Webhook is accepted within five minutes of its time, by the given clock", () => {
  const { headers, body } = standardDelivery(secret, { a: 1 }, { id: "msg_1", at });
  const bytes = Buffer.from(body);
  const rows: [number, boolean][] = [
    [0, true],
    [300, true],
    [-300, true],
    [301, false],
    [-301, false],
  ];
  for (const [late, accepted] of rows)
    assert.equal(isStandardWebhook(secret, headers, bytes, now + late), accepted, String(late));
});

test("a Standard Webhook holds for its id, its time, its bytes and its secret only", () => {
  const { headers, body } = standardDelivery(secret, { a: 1 }, { id: "msg_1", at });
  const bytes = Buffer.from(body);
  const signature = headers["webhook-signature"]!;
  const isAccepted = (changes: Record<string, string | undefined>, sent = bytes, key = secret) =>
    isStandardWebhook(key, { ...headers, ...changes }, sent, now);
  assert.equal(isAccepted({}), true);
  assert.equal(isAccepted({}, bytes, other), false);
  assert.equal(isAccepted({}, Buffer.from(`${body} `)), false);
  const changes = [
    { "webhook-id": "msg_2" },
    { "webhook-id": undefined },
    { "webhook-timestamp": String(now + 1) },
    { "webhook-timestamp": `${now}.0` },
    { "webhook-timestamp": undefined },
    { "webhook-signature": undefined },
    { "webhook-signature": signature.slice(3) },
    { "webhook-signature": signature.replace("v1,", "v1a,") },
    { "webhook-signature": `v1,${"A".repeat(44)}` },
  ];
  for (const each of changes) assert.equal(isAccepted(each), false, JSON.stringify(each));
  // A sender that replaces its secret signs with both.
  const both = `v1,${"A".repeat(44)} ${signature}`;
  assert.equal(isAccepted({ "webhook-signature": both }), true);
});

test("a Standard Webhook without an id that can be stored is not accepted", () => {
  for (const id of ["x".repeat(201), "a b", "", "a.1"]) {
    const { headers, body } = standardDelivery(secret, {}, { id, at });
    assert.equal(isStandardWebhook(secret, headers, Buffer.from(body), now), false, id);
  }
});
