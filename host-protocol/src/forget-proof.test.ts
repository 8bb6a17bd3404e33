// A host is forgotten by a proof for exactly this host, and by no answer that only lacks a record.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { signCommand } from "./commands.ts";
import { isForgetProven, signForgetProof } from "./forget-proof.ts";
import { makeNkey, makeSigningKey } from "./nkey.ts";
import { RenewReply, type Forget, type Refused } from "./reports.ts";

const key = makeSigningKey();
const hostKey = makeNkey("user").publicKey;
const now = Date.parse("2026-11-16T10:00:00Z");
const host = { instanceId: "ins_1", hostKey, commandKeys: [key.publicKey], now };
const proof = signForgetProof([key.privateKey], { instanceId: "ins_1", hostKey }, now);

test("a proof is valid for its host, for five minutes", () => {
  assert.ok(isForgetProven(proof, host));
  for (const minutes of [-5, 5]) {
    assert.ok(isForgetProven(proof, { ...host, now: now + minutes * 60_000 }));
    assert.ok(
      !isForgetProven(proof, { ...host, now: now + minutes * 60_000 + Math.sign(minutes) }),
    );
  }
});

test("a proof is worthless for another instance, another pairing and under another command key", () => {
  assert.ok(!isForgetProven(proof, { ...host, instanceId: "ins_2" }));
  assert.ok(!isForgetProven(proof, { ...host, hostKey: makeNkey("user").publicKey }));
  assert.ok(!isForgetProven(proof, { ...host, commandKeys: [makeSigningKey().publicKey] }));
  assert.ok(!isForgetProven(proof, { ...host, commandKeys: [] }));
});

test("a proof that was changed, or is none, is not valid", () => {
  const other = makeNkey("user").publicKey;
  const changed = { ...proof, hostKey: other };
  assert.ok(!isForgetProven(changed, { ...host, hostKey: other }));
  const later = { ...proof, issuedAt: new Date(now + 3600_000).toISOString() };
  assert.ok(!isForgetProven(later, { ...host, now: now + 3600_000 }));
  const command = signCommand(key.privateKey, {
    instanceId: "ins_1",
    commandId: crypto.randomUUID(),
    issuedAt: proof.issuedAt,
    body: {
      command: "forget_host",
      deadlineAt: proof.issuedAt,
      actor: { type: "user", id: "usr_1" },
      payload: { hostKey },
    },
  });
  const borrowed = { ...proof, signatures: [command.signature] };
  for (const none of [
    undefined,
    null,
    true,
    "",
    {},
    command,
    borrowed,
    { ...proof, signatures: [] },
  ])
    assert.ok(!isForgetProven(none, host), JSON.stringify(none));
});

test("during a rotation a host that knows either command key accepts the proof", () => {
  const next = makeSigningKey();
  const both = signForgetProof(
    [next.privateKey, key.privateKey],
    { instanceId: "ins_1", hostKey },
    now,
  );
  for (const commandKeys of [[key.publicKey], [next.publicKey], [key.publicKey, next.publicKey]])
    assert.ok(isForgetProven(both, { ...host, commandKeys }));
  assert.ok(!isForgetProven(both, { ...host, commandKeys: [makeSigningKey().publicKey] }));
});

/** How a daemon of version 0.1.0 reads answers: over the link by these schemas, over HTTP by the word alone. */
const olderDaemon = {
  forget: z.strictObject({ forget: z.literal(true) }),
  refused: z.strictObject({
    refused: z.enum(["rate_limited", "quota_exceeded"]),
    retryAfterMs: z.int().min(0),
  }),
  duplicate: z.strictObject({ refused: z.literal("duplicate_host") }),
  forgetsOverHttp: (body: object) => (body as { forget?: unknown }).forget === true,
};

test("a daemon of version 0.1.0 that is not found reads an answer it does not know, and asks again", () => {
  const unknown: Refused = { refused: "unknown_host", retryAfterMs: 1_000 };
  assert.ok(!olderDaemon.forget.safeParse(unknown).success);
  assert.ok(!olderDaemon.refused.safeParse(unknown).success);
  assert.ok(!olderDaemon.duplicate.safeParse(unknown).success);
  assert.ok(!olderDaemon.forgetsOverHttp(unknown));
});

test("a daemon of version 0.1.0 forgets at its next renewal if it was removed, and not over the link", () => {
  const removal: Forget = { forget: true, proof };
  assert.ok(!olderDaemon.forget.safeParse(removal).success);
  assert.ok(olderDaemon.forgetsOverHttp(removal));
});

test("an answer of a control plane of version 0.1.0 is read, and has no proof", () => {
  const answer = RenewReply.parse({ forget: true }) as Forget;
  assert.ok(!isForgetProven(answer.proof, host));
});
