// Messages as a receiver with a library of Standard Webhooks sees them (T28, N33).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { formatId } from "@hawser/contract";
import { verifyMessage } from "@hawser/testkit/webhook-receiver.ts";
import { createSecretOf, makeMessage, secretText } from "./message.ts";

const session = "019a8f3e-5c1d-7b42-9e60-3d7a41c8f205";
const event = {
  delivery_id: "019a8f3e-5c1d-7b42-9e60-3d7a41c8f206",
  event: "turn_finished",
  facts: { sessionId: session, turnId: "t1", outcome: "completed", seq: 7 },
  created_at: "2026-11-15T10:00:00.000Z",
};
const nowSeconds = () => Math.floor(Date.now() / 1000);
const secretOf = createSecretOf(randomBytes(32));
const secret = secretOf(session, randomBytes(16));
const verify = (by: Buffer, { body, headers }: { body: string; headers: Record<string, string> }) =>
  verifyMessage(secretText(by), { text: body, headers });

test("T28: a library of Standard Webhooks accepts a message, which has ids as callers see them", () => {
  const message = makeMessage(event, nowSeconds(), [secret]);
  assert.deepEqual(verify(secret, message), {
    type: "turn_finished",
    timestamp: "2026-11-15T10:00:00.000Z",
    data: { sessionId: formatId("session", session), turnId: "t1", outcome: "completed", seq: 7 },
  });
  assert.equal(message.headers["webhook-id"], formatId("delivery", event.delivery_id));
});

test("N33: id, time and body are signed, and an old message is rejected", () => {
  const message = makeMessage(event, nowSeconds(), [secret]);
  const withHeader = (name: string, value: string) => ({
    ...message,
    headers: { ...message.headers, [name]: value },
  });
  assert.throws(() => verify(secret, withHeader("webhook-id", "dlv_other")), /signature/i);
  const later = String(nowSeconds() + 1);
  assert.throws(() => verify(secret, withHeader("webhook-timestamp", later)), /signature/i);
  assert.throws(
    () => verify(secret, { ...message, body: message.body.replace("t1", "t2") }),
    /signature/i,
  );
  const old = makeMessage(event, nowSeconds() - 301, [secret]);
  assert.throws(() => verify(secret, old), /timestamp/i);
});

test("N33: while a secret is replaced, both sign", () => {
  const former = secretOf(session, randomBytes(16));
  const message = makeMessage(event, nowSeconds(), [secret, former]);
  for (const each of [secret, former]) assert.ok(verify(each, message));
  assert.throws(() => verify(secretOf(session, randomBytes(16)), message), /signature/i);
});

test("the secret of a webhook depends on the service's key, the webhook and the salt", () => {
  const salt = randomBytes(16);
  const again = secretOf(session, salt);
  assert.deepEqual(secretOf(session, salt), again);
  for (const other of [
    createSecretOf(randomBytes(32))(session, salt),
    secretOf(event.delivery_id, salt),
    secretOf(session, randomBytes(16)),
  ])
    assert.notDeepEqual(other, again);
  assert.match(secretText(again), /^whsec_[A-Za-z0-9+/]{43}=$/);
});
