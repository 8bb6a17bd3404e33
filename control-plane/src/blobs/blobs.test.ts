// Blobs on a real database: complete or absent, visible to one organization only, within the quota.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, parseId, type RefusalCode } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { createBlobs, type Blobs, type Upload } from "./blobs.ts";
import { deleteCutUploads } from "./store.ts";

const publicKey = "U1";
let service: ServiceDatabase;
let blobs: Blobs;
let acme: string;
let globex: string;

before(async () => {
  service = await openServiceDatabase({ patienceMs: 20_000 });
  blobs = createBlobs(service.database);
  const make = async (name: string) => {
    const made = await createTestOrganization(service.database, name, `a@${name}.example`);
    return parseId("organization", made.organizationId)!;
  };
  acme = await make("acme");
  globex = await make("globex");
  await ownerSql(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name) VALUES ($1, 'box')
                RETURNING organization_id, instance_id)
     INSERT INTO host_keys (organization_id, instance_id, public_key, machine_id, token_expires_at)
     SELECT organization_id, instance_id, $2, 'm', now() FROM i`,
    [acme, publicKey],
  );
});

beforeEach(async () => {
  await moveClock(service.url, 0);
  await ownerSql(service.url, "DELETE FROM blob_quotas");
  await ownerSql(service.url, "DELETE FROM blobs");
  await ownerSql(service.url, "UPDATE host_keys SET revoked_at = NULL");
  await setQuota(5 * 1024 ** 3);
});

after(() => service[Symbol.asyncDispose]());

const setQuota = (bytes: number) =>
  ownerSql(service.url, "UPDATE organizations SET blob_bytes_per_day = $1", [bytes]);

const sha256Of = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");

async function* inPieces(bytes: Buffer, size = 64 * 1024) {
  for (let at = 0; at < bytes.length; at += size) {
    await Promise.resolve();
    yield bytes.subarray(at, at + size);
  }
}

const put = (bytes: Buffer, changes: Partial<Upload> = {}) =>
  blobs.put({
    organizationId: acme,
    publicKey,
    sha256: sha256Of(bytes),
    size: bytes.length,
    body: () => inPieces(bytes),
    ...changes,
  });

async function read(sha256: string, organizationId = acme): Promise<Buffer> {
  const { chunks } = await blobs.read(organizationId, sha256);
  const read: Buffer[] = [];
  for await (const chunk of chunks()) read.push(chunk);
  return Buffer.concat(read);
}

const refusedAs = (code: RefusalCode) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

async function stored() {
  const [row] = await ownerSql<{ blobs: string; chunks: string; used: string }>(
    service.url,
    `SELECT (SELECT count(*) FROM blobs) AS blobs, (SELECT count(*) FROM blob_chunks) AS chunks,
            (SELECT coalesce(sum(bytes), 0) FROM blob_quotas) AS used`,
  );
  return { blobs: Number(row!.blobs), chunks: Number(row!.chunks), used: Number(row!.used) };
}

test("what was put is read again byte for byte, around the edges of chunks", async () => {
  for (const size of [0, 1, 256 * 1024 - 1, 256 * 1024, 256 * 1024 + 1, 1_000_003]) {
    const bytes = randomBytes(size);
    assert.deepEqual(await put(bytes), { created: true });
    assert.ok((await read(sha256Of(bytes))).equals(bytes), `${size} bytes`);
  }
});

test("a blob that is there already is not listened to and costs nothing", async () => {
  const bytes = randomBytes(300_000);
  await put(bytes);
  const before = await stored();
  const again = await put(bytes, { body: () => assert.fail("its bytes are not wanted") });
  assert.deepEqual(again, { created: false });
  assert.deepEqual(await stored(), before);
});

test("a wrong hash, a short body and a body that breaks off leave nothing", async () => {
  const bytes = randomBytes(700_000);
  await assert.rejects(
    put(bytes, { sha256: sha256Of(randomBytes(9)) }),
    refusedAs("invalid_input"),
  );
  assert.deepEqual(await stored(), { blobs: 0, chunks: 0, used: 700_000 });
  await assert.rejects(put(bytes, { size: 700_001 }), refusedAs("invalid_input"));
  async function* broken() {
    yield* inPieces(bytes.subarray(0, 600_000));
    throw new Error("cut");
  }
  await assert.rejects(put(bytes, { body: broken }), /cut/);
  // Received bytes count; reserved bytes that did not arrive are returned.
  assert.deepEqual(await stored(), { blobs: 0, chunks: 0, used: 2_000_000 });
  await assert.rejects(read(sha256Of(bytes)), refusedAs("not_found"));
});

test("nobody sees a blob before it is whole, and of two at once one is kept", async () => {
  const bytes = randomBytes(600_000);
  const go = Promise.withResolvers<void>();
  async function* held() {
    yield* inPieces(bytes.subarray(0, 590_000));
    await go.promise;
    yield bytes.subarray(590_000);
  }
  const both = [put(bytes, { body: held }), put(bytes, { body: held })];
  await assert.rejects(read(sha256Of(bytes)), refusedAs("not_found"));
  go.resolve();
  const results = await Promise.all(both);
  assert.equal(results.filter(({ created }) => created).length, 1);
  assert.deepEqual(await stored(), { blobs: 1, chunks: 3, used: 1_200_000 });
  assert.ok((await read(sha256Of(bytes))).equals(bytes));
});

test("another organization's blob is not there, in the same words as one that is nowhere", async () => {
  const bytes = randomBytes(1000);
  await put(bytes);
  const words = (sha256: string) =>
    blobs.read(globex, sha256).then(
      () => assert.fail("it was found"),
      (error: Refusal) => [error.code, error.message],
    );
  assert.deepEqual(await words(sha256Of(bytes)), await words(sha256Of(randomBytes(5))));
  // Row-level security also holds if a query forgets the organization.
  const everything = { name: "all_blobs", text: "SELECT 1 AS one FROM blobs, blob_chunks" };
  assert.equal((await service.database.tenant(globex).rows(everything)).length, 0);
  assert.equal((await service.database.tenant(acme).rows(everything)).length, 1);
});

test("a host whose key is revoked while it sends leaves nothing", async () => {
  const bytes = randomBytes(300_000);
  async function* revoking() {
    yield* inPieces(bytes);
    await ownerSql(service.url, "UPDATE host_keys SET revoked_at = now()");
  }
  await assert.rejects(put(bytes, { body: revoking }), refusedAs("forbidden"));
  const { blobs: left, chunks } = await stored();
  assert.deepEqual([left, chunks], [0, 0]);
});

test("twenty uploads at once never exceed the quota, which is new the next day", async () => {
  await setQuota(10 * 50_000);
  const all = Array.from({ length: 20 }, () => randomBytes(50_000));
  const ends = await Promise.allSettled(all.map((bytes) => put(bytes)));
  const refused = ends.filter((end) => end.status === "rejected");
  assert.equal(refused.length, 10);
  for (const { reason } of refused) {
    assert.ok(refusedAs("quota_exceeded")(reason));
    const { retryAfterMs } = (reason as Refusal).details;
    assert.ok(retryAfterMs! > 0 && retryAfterMs! <= 86_400_000, `${retryAfterMs}`);
  }
  assert.equal((await stored()).used, 500_000);
  await moveClock(service.url, 86_400);
  assert.deepEqual(await put(randomBytes(50_000)), { created: true });
  await assert.rejects(put(randomBytes(500_001)), refusedAs("quota_exceeded"));
  assert.equal((await stored()).used, 50_000);
});

test("an upload whose node died is removed with its chunks, a running one is left alone", async () => {
  const insert = (age: string) =>
    ownerSql(
      service.url,
      `WITH b AS (INSERT INTO blobs (organization_id, sha256, size, created_at)
                  VALUES ($1, sha256('x'), 9, now() - $2::interval)
                  RETURNING organization_id, blob_id)
       INSERT INTO blob_chunks SELECT organization_id, blob_id, 0, 'x' FROM b`,
      [acme, age],
    );
  await insert("16 minutes");
  await insert("14 minutes");
  const whole = randomBytes(10);
  await put(whole);
  await ownerSql(
    service.url,
    "UPDATE blobs SET created_at = now() - interval '1 year' WHERE stored_at IS NOT NULL",
  );
  await service.database.system.rows(deleteCutUploads);
  const { blobs: left, chunks } = await stored();
  assert.deepEqual([left, chunks], [2, 2]);
  assert.ok((await read(sha256Of(whole))).equals(whole));
});
