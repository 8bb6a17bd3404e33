import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import { moveClock } from "@hawser/testkit/clock.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import {
  createTestOrganization,
  makeKey,
  type TestOrganization,
} from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { Database } from "../postgres/database.ts";
import { createAuthenticator } from "./authenticate.ts";
import { hashSecret, looksLikeSecret, makeSecretText } from "./secret-text.ts";

let service: ServiceDatabase;
let database: Database;
let acme: TestOrganization;

before(async () => {
  service = await openServiceDatabase();
  ({ database } = service);
  acme = await createTestOrganization(database, "Acme", "ada@acme.example");
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

const bearer = (key: string) => `Bearer ${key}`;

/** An authenticator with a clock that only the test advances. */
function authenticator() {
  let now = 0;
  const opened = createAuthenticator(database.system, () => now);
  return { ...opened, pass: (ms: number) => (now += ms) };
}

const revoke = (key: string) =>
  ownerSql(service.url, "UPDATE api_keys SET revoked_at = hawser_now() WHERE secret_hash = $1", [
    hashSecret(key),
  ]);

test("the text of a secret distinguishes a mistyped one from a wrong one", () => {
  const secret = makeSecretText("hwp");
  assert.ok(looksLikeSecret("hwp", secret));
  assert.ok(!looksLikeSecret("hwk", secret));
  for (let i = 4; i < secret.length; i++) {
    const changed = secret.slice(0, i) + (secret[i] === "0" ? "1" : "0") + secret.slice(i + 1);
    assert.ok(!looksLikeSecret("hwp", changed), `changed at ${i}`);
  }
  assert.equal(new Set(Array.from({ length: 100 }, () => makeSecretText("hwp"))).size, 100);
});

test("a key is read from a bearer header and from no other form", async () => {
  const { authenticate } = authenticator();
  const { owner } = acme.keys;
  assert.equal((await authenticate(bearer(owner)))?.scope, "organization");
  for (const bad of [
    undefined,
    "",
    "Bearer",
    "Bearer ",
    owner,
    `Basic ${owner}`,
    `${bearer(owner)} x`,
  ]) {
    assert.equal(await authenticate(bad), undefined, bad);
  }
});

test("a revoked key is out within five seconds on every node, and at once where it was revoked", async () => {
  const key = await makeKey(database, acme.organizationId, ["instances:view"]);
  const here = authenticator();
  const elsewhere = authenticator();
  const caller = await here.authenticate(bearer(key));
  await elsewhere.authenticate(bearer(key));
  await revoke(key);
  here.forget(caller!.organizationId);
  assert.equal(await here.authenticate(bearer(key)), undefined);
  elsewhere.pass(5_001);
  assert.equal(await elsewhere.authenticate(bearer(key)), undefined);
});

test("a lookup that began before a key was revoked is not remembered after it", async () => {
  const key = await makeKey(database, acme.organizationId, ["instances:view"]);
  const { authenticate, forget } = authenticator();
  const looking = authenticate(bearer(key));
  forget("any organization");
  await looking;
  await revoke(key);
  assert.equal(await authenticate(bearer(key)), undefined);
});

test("a key ends at its time, by the database's clock, also when it is remembered", async () => {
  const [row] = await ownerSql<{ at: string }>(
    service.url,
    "SELECT (hawser_now() + interval '2 seconds')::text AS at",
  );
  const key = await makeKey(database, acme.organizationId, ["instances:view"], {
    expiresAt: row!.at,
  });
  const { authenticate, pass } = authenticator();
  assert.ok(await authenticate(bearer(key)));
  pass(2_001);
  await moveClock(service.url, 3);
  assert.equal(await authenticate(bearer(key)), undefined);
  await moveClock(service.url, 0);
});

test("a user's key has what both the key and the role allow, and ends with the membership", async () => {
  const globex = await createTestOrganization(database, "Globex", "grace@globex.example");
  const { userId, organizationId } = globex;
  const key = await makeKey(database, organizationId, ["instances:view", "sessions:edit"], {
    userId,
  });
  const permissions = async () => [
    ...((await authenticator().authenticate(bearer(key)))?.permissions ?? []),
  ];
  assert.deepEqual(await permissions(), ["instances:view", "sessions:edit"]);
  await ownerSql(
    service.url,
    "UPDATE memberships SET role = 'viewer' WHERE email = 'grace@globex.example'",
  );
  assert.deepEqual(await permissions(), ["instances:view"]);
  await ownerSql(service.url, "DELETE FROM memberships WHERE email = 'grace@globex.example'");
  assert.equal(await authenticator().authenticate(bearer(key)), undefined);
});

test("an agent's key has at most what agents may, and ends with its session", async () => {
  const [session] = await ownerSql<{ id: string }>(
    service.url,
    `WITH i AS (INSERT INTO instances (organization_id, name)
                SELECT organization_id, 'box' FROM organizations WHERE name = 'Acme' RETURNING *)
     INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     SELECT organization_id, instance_id, 'codex', '{}' FROM i RETURNING session_id AS id`,
  );
  const key = await makeKey(database, acme.organizationId, ["sessions:view", "instances:delete"], {
    sessionId: formatId("session", session!.id),
  });
  const caller = await authenticator().authenticate(bearer(key));
  assert.equal(caller?.scope, "agent");
  assert.deepEqual([...caller.permissions], ["sessions:view"]);
  await ownerSql(service.url, "UPDATE sessions SET status = 'ended'");
  assert.equal(await authenticator().authenticate(bearer(key)), undefined);
});

test("when a key was last used is noted", async () => {
  const { authenticate, noteUses } = authenticator();
  const caller = await authenticate(bearer(acme.keys.viewer));
  await noteUses();
  const [row] = await ownerSql<{ used: boolean }>(
    service.url,
    "SELECT last_used_at IS NOT NULL AS used FROM api_keys WHERE api_key_id = $1",
    [caller!.apiKeyId],
  );
  assert.equal(row!.used, true);
});
