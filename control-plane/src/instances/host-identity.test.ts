// Only the currently paired host gets new tokens, and a host that was removed receives the proof (R16).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, type RefusalCode } from "@hawser/contract";
import { makeNkey, makeRenewRequest, makeSigningKey } from "@hawser/host-protocol";
import { openIdentityBed, type IdentityBed } from "@hawser/testkit/identity-bed.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { createLog } from "../log.ts";
import { createNonces, renewHost, type HostIdentity } from "./host-identity.ts";
import { createRemovedHosts } from "./removed-hosts.ts";

let bed: IdentityBed;
before(async () => {
  bed = await openIdentityBed();
});
beforeEach(() => bed.reset());
after(() => bed[Symbol.asyncDispose]());

const refusedAs = (code: RefusalCode) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

test("a host whose token ran out long ago gets a new one, and the key stays known for as long", async () => {
  const { key, reply } = await bed.pairedHost();
  await ownerSql(
    bed.url,
    "UPDATE host_keys SET token_expires_at = hawser_now() - interval '9 days' WHERE public_key = $1",
    [key.publicKey],
  );
  const renewed = await bed.renew(key);
  assert.ok("token" in renewed);
  assert.deepEqual(bed.tokens.read(renewed.token, Date.now()), {
    publicKey: key.publicKey,
    instanceId: reply.instanceId,
  });
  const ahead = (await bed.keyRow(key))!.token_expires_at.getTime() - Date.now();
  assert.ok(Math.abs(ahead - bed.lifetimeSeconds * 1000) < 5_000);
});

const askLater = { refused: "unknown_host", retryAfterMs: 1_000 };

test("a host whose instance was deleted receives the proof, by its key and by its instance", async () => {
  const { instanceId, key } = await bed.pairedHost();
  const other = await bed.pairedHost();
  await bed.remove(instanceId);
  assert.ok((await bed.keyRow(key))!.revoked);
  for (const answer of [await bed.renew(key), await bed.removed.answerInstance(instanceId)]) {
    assert.ok(bed.provesRemoval(answer, instanceId, key));
    assert.ok(!bed.provesRemoval(answer, other.instanceId, key));
    assert.ok(!bed.provesRemoval(answer, instanceId, other.key));
    assert.ok(!bed.provesRemoval(answer, instanceId, key, [makeSigningKey().publicKey]));
  }
  assert.equal(bed.counts.unknown, 0);
});

test("a host without any record is answered to ask later, and the answer is counted", async () => {
  assert.deepEqual(await bed.renew(makeNkey("user")), askLater);
  const { instanceId, key } = await bed.pairedHost();
  assert.deepEqual(
    await bed.removed.answerInstance(instanceId),
    askLater,
    "a paired host is not removed",
  );
  const rows = await ownerSql(
    bed.url,
    `WITH gone AS (DELETE FROM host_keys WHERE public_key = $1 RETURNING *)
     SELECT to_jsonb(gone) AS row FROM gone`,
    [key.publicKey],
  );
  assert.deepEqual(await bed.renew(key), askLater);
  assert.deepEqual(await bed.removed.answerInstance(instanceId), askLater);
  assert.equal(bed.counts.unknown, 4);
  await ownerSql(
    bed.url,
    "INSERT INTO host_keys SELECT * FROM jsonb_populate_record(NULL::host_keys, $1)",
    [rows[0]!["row"]],
  );
  assert.ok("token" in (await bed.renew(key)), "the record is back, and so is the host");
});

test("during a rotation of the command key, either key proves a removal", async () => {
  const { instanceId, key } = await bed.pairedHost();
  await bed.remove(instanceId);
  const next = makeSigningKey();
  const rotating = createRemovedHosts({
    system: bed.database.system,
    keys: {
      commandKey: next,
      secondCommandKey: {
        ...bed.keys.commandKey,
        stage: "former",
        since: new Date().toISOString(),
      },
    },
    countUnknown: () => {},
    log: createLog("silent"),
  });
  const answer = await rotating.answerKey(key.publicKey);
  assert.ok(bed.provesRemoval(answer, instanceId, key), "a host that was away has the old key");
  assert.ok(bed.provesRemoval(answer, instanceId, key, [next.publicKey]));
});

test("a key revoked while its token is minted gets none", async () => {
  const { instanceId, key } = await bed.pairedHost();
  const racing: HostIdentity = {
    ...bed.parts,
    database: {
      ...bed.database,
      system: {
        ...bed.database.system,
        async first(statement, ...values) {
          const row = await bed.database.system.first(statement, ...values);
          if (statement.purpose === "find the instance of a host by its key")
            await bed.remove(instanceId);
          return row;
        },
      },
    },
  };
  const request = makeRenewRequest(key, bed.parts.nonces.make());
  assert.ok(bed.provesRemoval(await renewHost(racing, request), instanceId, key));
});

test("renewal asks for the key's own signature over a nonce of the last minute", async () => {
  const { key } = await bed.pairedHost();
  const nonce = bed.parts.nonces.make();
  const request = makeRenewRequest(key, nonce);
  const refused = refusedAs("unauthenticated");
  const other = makeRenewRequest(makeNkey("user"), nonce);
  await assert.rejects(renewHost(bed.parts, { ...request, signature: other.signature }), refused);
  await assert.rejects(renewHost(bed.parts, { ...request, signature: "" }), refused);
  await assert.rejects(
    renewHost(bed.parts, { ...request, nonce: bed.parts.nonces.make() }),
    refused,
  );
  await assert.rejects(bed.renew(key, createNonces(randomBytes(32)).make()), refused);
  for (const bad of ["", ".", "..", "x", `${Date.now()}.x.`, `9${nonce}`, "a".repeat(10_000)])
    await assert.rejects(bed.renew(key, bad), refused, bad.slice(0, 40));

  assert.ok("token" in (await renewHost(bed.parts, request)));
  assert.ok("token" in (await renewHost(bed.parts, request)), "the same again within the minute");
  bed.counts.now += 60_000;
  assert.ok("token" in (await renewHost(bed.parts, request)));
  bed.counts.now += 1;
  await assert.rejects(renewHost(bed.parts, request), refused);
});

test("a nonce of one node is good at every node that has the secret", () => {
  const nonce = createNonces(bed.nonceSecret).make();
  assert.ok(createNonces(bed.nonceSecret, () => Date.now() + 59_000).isValid(nonce));
  assert.ok(
    createNonces(bed.nonceSecret, () => Date.now() - 5_000).isValid(nonce),
    "a clock behind",
  );
  assert.ok(!createNonces(bed.nonceSecret, () => Date.now() + 61_000).isValid(nonce));
  assert.notEqual(createNonces(bed.nonceSecret).make(), createNonces(bed.nonceSecret).make());
});
