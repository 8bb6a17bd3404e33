// A token pairs one host, another pairing replaces it, and only the currently paired host gets new
// tokens (R16, T16).
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId, parseId, type RefusalCode } from "@hawser/contract";
import { makeNkey, makeRenewRequest, type Nkey, type PairReply } from "@hawser/host-protocol";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { makeSecretText } from "../access/secret-text.ts";
import { makeFabricKeys } from "../fabric/fabric-keys.ts";
import { createHostTokens } from "../fabric/host-token.ts";
import type { Database } from "../postgres/database.ts";
import {
  createNonces,
  pairHost,
  renewHost,
  revokeHostKeys,
  type HostIdentity,
} from "./host-identity.ts";
import { issuePairingToken } from "./pairing.ts";
import { deleteInstance, insertInstance, revokePairingTokens } from "./store.ts";

const lifetimeSeconds = 3600;
const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, lifetimeSeconds);
const nonceSecret = randomBytes(32);

let service: ServiceDatabase;
let database: Database;
let organizationId: string;
let parts: HostIdentity;
let revocations: number;
let now: number;

before(async () => {
  service = await openServiceDatabase({ patienceMs: 20_000 });
  ({ database } = service);
  const made = await createTestOrganization(database, "Acme", "ada@acme.example");
  organizationId = parseId("organization", made.organizationId)!;
  parts = {
    database,
    tokens,
    commandKey: keys.commandKey.publicKey,
    nonces: createNonces(nonceSecret, () => now),
    revoked: () => revocations++,
  };
});

beforeEach(async () => {
  revocations = 0;
  now = Date.now();
  await moveClock(service.url, 0);
});

after(async () => {
  await service[Symbol.asyncDispose]();
});

async function newInstance(): Promise<string> {
  return database.tenantTransaction(
    organizationId,
    async (sql) => (await sql.first(insertInstance, organizationId, "box"))!.instance_id,
  );
}

function newToken(instanceId: string): Promise<string> {
  return database.tenantTransaction(
    organizationId,
    async (sql) =>
      (await issuePairingToken(sql, "https://hawser.example", instanceId)).pairingToken,
  );
}

/** What delete_instance does to an instance. */
function remove(instanceId: string): Promise<void> {
  return database.tenantTransaction(organizationId, async (sql) => {
    await sql.first(deleteInstance, organizationId, instanceId);
    sql.later(revokePairingTokens, organizationId, instanceId);
    revokeHostKeys(sql, organizationId, instanceId);
  });
}

const pair = (
  pairingToken: string,
  key: Nkey,
  machineId = "m1",
  callId = "test",
  countWrongToken = () => {},
) =>
  pairHost(
    parts,
    { pairingToken, publicKey: key.publicKey, machineId, daemonVersion: "1.2.3" },
    callId,
    countWrongToken,
  );

const renew = (key: Nkey, nonce = parts.nonces.make()) =>
  renewHost(parts, makeRenewRequest(key, nonce));

const refusedAs = (code: RefusalCode) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

async function pairedHost(machineId = "m1") {
  const instanceId = await newInstance();
  const key = makeNkey("user");
  const reply = await pair(await newToken(instanceId), key, machineId);
  return { instanceId, key, reply };
}

interface KeyRow {
  machine_id: string;
  token_expires_at: Date;
  revoked: boolean;
}

async function keyRow(key: Nkey): Promise<KeyRow | undefined> {
  const rows = await ownerSql<KeyRow>(
    service.url,
    `SELECT machine_id, token_expires_at, revoked_at IS NOT NULL AS revoked
       FROM host_keys WHERE public_key = $1`,
    [key.publicKey],
  );
  return rows[0];
}

async function hostOf(instanceId: string) {
  const rows = await ownerSql(
    service.url,
    `SELECT host_key, machine_id, daemon_version, journal_id, boot_id FROM instances
      WHERE instance_id = $1`,
    [instanceId],
  );
  return rows[0]!;
}

async function newSession(instanceId: string, status: string): Promise<string> {
  const rows = await ownerSql<{ session_id: string }>(
    service.url,
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, status, started_by, queued_turns)
     VALUES ($1, $2, 'codex', $3, '{}', '{t2}') RETURNING session_id`,
    [organizationId, instanceId, status],
  );
  return rows[0]!.session_id;
}

function sessionsOf(instanceId: string) {
  return ownerSql<{ status: string; status_reason: string | null; queued_turns: string[] }>(
    service.url,
    `SELECT status, status_reason, queued_turns FROM sessions WHERE instance_id = $1 ORDER BY session_id`,
    [instanceId],
  );
}

test("a paired host has a token for its own subjects, and its instance knows its key and machine", async () => {
  const { instanceId, key, reply } = await pairedHost();
  assert.equal(reply.instanceId, formatId("instance", instanceId));
  assert.equal(reply.commandKey, keys.commandKey.publicKey);
  assert.deepEqual(tokens.read(reply.token, Date.now()), {
    publicKey: key.publicKey,
    instanceId: reply.instanceId,
  });
  assert.deepEqual(await hostOf(instanceId), {
    host_key: key.publicKey,
    machine_id: "m1",
    daemon_version: "1.2.3",
    journal_id: null,
    boot_id: null,
  });
  const row = (await keyRow(key))!;
  assert.ok(!row.revoked && row.machine_id === "m1");
  const ahead = row.token_expires_at.getTime() - Date.now();
  assert.ok(Math.abs(ahead - lifetimeSeconds * 1000) < 5_000);
  assert.equal(revocations, 0);
});

test("of 50 hosts with one token one is paired, and each try is in the audit trail", async () => {
  const instanceId = await newInstance();
  const token = await newToken(instanceId);
  const hosts = Array.from({ length: 50 }, () => makeNkey("user"));
  const tries = await Promise.allSettled(
    hosts.map((key, at) => pair(token, key, `m${at}`, "race")),
  );
  const won = tries.flatMap((each, at) => (each.status === "fulfilled" ? [hosts[at]!] : []));
  assert.equal(won.length, 1);
  for (const each of tries) {
    if (each.status === "rejected")
      assert.ok(refusedAs("not_found")(each.reason), `${each.reason}`);
  }
  const kept = await ownerSql<{ public_key: string }>(
    service.url,
    "SELECT public_key FROM host_keys WHERE instance_id = $1",
    [instanceId],
  );
  assert.deepEqual(kept, [{ public_key: won[0]!.publicKey }]);
  const trail = await ownerSql(
    service.url,
    `SELECT outcome, input->>'refused' AS refused, count(*)::int FROM audit_entries
      WHERE action = 'pair_host' AND call_id = 'race' GROUP BY 1, 2 ORDER BY 1`,
  );
  assert.deepEqual(trail, [
    { outcome: "done", refused: null, count: 1 },
    { outcome: "not_found", refused: "redeemed before", count: 49 },
  ]);
});

test("another machine takes over: the former key is revoked and its open sessions end in error", async () => {
  const { instanceId, key: former } = await pairedHost("m1");
  for (const status of ["active", "detached", "ended", "cleanup_failed"])
    await newSession(instanceId, status);
  await ownerSql(
    service.url,
    "UPDATE instances SET journal_id = 'j1', boot_id = 'b1' WHERE instance_id = $1",
    [instanceId],
  );
  const token = await newToken(instanceId);
  assert.ok(!(await keyRow(former))!.revoked, "a token alone changes nothing");
  const key = makeNkey("user");
  await pair(token, key, "m2");
  assert.ok((await keyRow(former))!.revoked);
  assert.equal(revocations, 1);
  assert.deepEqual(await hostOf(instanceId), {
    host_key: key.publicKey,
    machine_id: "m2",
    daemon_version: "1.2.3",
    journal_id: null,
    boot_id: null,
  });
  assert.deepEqual(await sessionsOf(instanceId), [
    { status: "error", status_reason: "host_replaced", queued_turns: [] },
    { status: "error", status_reason: "host_replaced", queued_turns: [] },
    { status: "ended", status_reason: null, queued_turns: ["t2"] },
    { status: "cleanup_failed", status_reason: null, queued_turns: ["t2"] },
  ]);
  assert.deepEqual(await renew(former), { forget: true });
  assert.ok("token" in (await renew(key)));
});

test("the same machine with a new key loses the former key and keeps its sessions", async () => {
  const { instanceId, key: former } = await pairedHost("m1");
  await newSession(instanceId, "active");
  await pair(await newToken(instanceId), makeNkey("user"), "m1");
  assert.ok((await keyRow(former))!.revoked);
  assert.equal(revocations, 1);
  assert.deepEqual(await sessionsOf(instanceId), [
    { status: "active", status_reason: null, queued_turns: ["t2"] },
  ]);
});

test("the same key may be paired again with its own instance", async () => {
  const { instanceId, key } = await pairedHost();
  await pair(await newToken(instanceId), key);
  assert.ok(!(await keyRow(key))!.revoked);
  assert.equal(revocations, 0);
});

test("a key of another instance, or one that was revoked, is refused and the token stays good", async () => {
  const other = await pairedHost();
  const { instanceId, key: former } = await pairedHost();
  const token = await newToken(instanceId);
  await pair(token, makeNkey("user"), "m2");
  const next = await newToken(instanceId);
  await assert.rejects(pair(next, other.key, "m3", "taken"), refusedAs("already_exists"));
  await assert.rejects(pair(next, former, "m1", "taken"), refusedAs("already_exists"));
  const trail = await ownerSql(
    service.url,
    "SELECT outcome, input->>'publicKey' AS key FROM audit_entries WHERE call_id = 'taken' ORDER BY audit_id",
  );
  assert.deepEqual(trail, [
    { outcome: "already_exists", key: other.key.publicKey },
    { outcome: "already_exists", key: former.publicKey },
  ]);
  assert.deepEqual(await hostOf(other.instanceId), {
    ...(await hostOf(other.instanceId)),
    host_key: other.key.publicKey,
  });
  await pair(next, makeNkey("user"), "m3");
});

test("one key for two instances at the same time belongs to one of them", async () => {
  const key = makeNkey("user");
  const instances = await Promise.all(Array.from({ length: 4 }, newInstance));
  const issued = await Promise.all(instances.map(newToken));
  const tries = await Promise.allSettled(issued.map((token) => pair(token, key)));
  const won = tries.filter((each) => each.status === "fulfilled");
  assert.equal(won.length, 1);
  assert.equal((won[0] as PromiseFulfilledResult<PairReply>).value.token.split(".").length, 3);
  for (const each of tries)
    if (each.status === "rejected") assert.ok(refusedAs("already_exists")(each.reason));
});

test("an instance that is deleted, before or meanwhile, is paired with nobody", async () => {
  const instanceId = await newInstance();
  const token = await newToken(instanceId);
  await remove(instanceId);
  await assert.rejects(pair(token, makeNkey("user")), refusedAs("not_found"));

  const meanwhile = await newInstance();
  const late = await newToken(meanwhile);
  let trying: Promise<PairReply> | undefined;
  await database.tenantTransaction(organizationId, async (sql) => {
    await sql.first(deleteInstance, organizationId, meanwhile);
    trying = pair(late, makeNkey("user"));
    trying.catch(() => {});
    await untilOneWaits();
  });
  await assert.rejects(trying!, refusedAs("not_found"));

  const gone = await newInstance();
  const last = await newToken(gone);
  const [tried] = await Promise.allSettled([pair(last, makeNkey("user")), remove(gone)]);
  const left = await ownerSql<{ good: number }>(
    service.url,
    `SELECT count(*)::int AS good FROM host_keys WHERE instance_id = $1 AND revoked_at IS NULL`,
    [gone],
  );
  assert.equal(left[0]!.good, 0, `whichever came first (${tried.status})`);
});

test("a pairing waits for a session's lock before it takes the instance's", async () => {
  const { instanceId } = await pairedHost();
  const session = await newSession(instanceId, "active");
  const token = await newToken(instanceId);
  let pairing: Promise<PairReply>;
  {
    await using _held = await holdRow(
      service.url,
      `SELECT FROM sessions WHERE session_id = '${session}' FOR UPDATE`,
    );
    pairing = pair(token, makeNkey("user"), "m2");
    await untilOneWaits();
    await ownerSql(
      service.url,
      `SELECT FROM instances WHERE instance_id = '${instanceId}' FOR UPDATE NOWAIT`,
    );
  }
  await pairing;
});

async function untilOneWaits(): Promise<void> {
  const deadline = Date.now() + 5_000;
  while ((await waitingStatements(service.url)) !== 1) {
    assert.ok(Date.now() < deadline, "the pairing did not wait for a lock");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("what is no user's key, or no token, is refused without a trace", async () => {
  const token = await newToken(await newInstance());
  for (const kind of ["account", "operator", "server"] as const)
    await assert.rejects(pair(token, makeNkey(kind)), refusedAs("invalid_input"));
  const mistyped = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  for (const bad of ["", "hwp_nonsense", mistyped])
    await assert.rejects(pair(bad, makeNkey("user")), refusedAs("not_found"));
  await pair(token, makeNkey("user"));
});

test("a token is good for 15 minutes of database time", async () => {
  const early = await newToken(await newInstance());
  const late = await newToken(await newInstance());
  await moveClock(service.url, 15 * 60 - 1);
  await pair(early, makeNkey("user"));
  await moveClock(service.url, 15 * 60 + 1);
  await assert.rejects(pair(late, makeNkey("user"), "m1", "late"), refusedAs("not_found"));
  const trail = await ownerSql(
    service.url,
    "SELECT input->>'refused' AS refused FROM audit_entries WHERE call_id = 'late'",
  );
  assert.deepEqual(trail, [{ refused: "expired" }]);
});

test("a host whose token ran out long ago gets a new one, and the key stays known for as long", async () => {
  const { key, reply } = await pairedHost();
  await ownerSql(
    service.url,
    "UPDATE host_keys SET token_expires_at = hawser_now() - interval '9 days' WHERE public_key = $1",
    [key.publicKey],
  );
  const renewed = await renew(key);
  assert.ok("token" in renewed);
  assert.deepEqual(tokens.read(renewed.token, Date.now()), {
    publicKey: key.publicKey,
    instanceId: reply.instanceId,
  });
  const ahead = (await keyRow(key))!.token_expires_at.getTime() - Date.now();
  assert.ok(Math.abs(ahead - lifetimeSeconds * 1000) < 5_000);
});

test("a host that is unknown, or whose instance is gone, is told to forget", async () => {
  assert.deepEqual(await renew(makeNkey("user")), { forget: true });
  const { instanceId, key } = await pairedHost();
  await remove(instanceId);
  assert.ok((await keyRow(key))!.revoked);
  assert.deepEqual(await renew(key), { forget: true });
});

test("a key revoked while its token is minted gets none", async () => {
  const { instanceId, key } = await pairedHost();
  const racing: HostIdentity = {
    ...parts,
    database: {
      ...database,
      system: {
        ...database.system,
        async first(statement, ...values) {
          const row = await database.system.first(statement, ...values);
          if (statement.purpose === "find the instance of a host by its key")
            await remove(instanceId);
          return row;
        },
      },
    },
  };
  const request = makeRenewRequest(key, parts.nonces.make());
  assert.deepEqual(await renewHost(racing, request), { forget: true });
});

test("renewal asks for the key's own signature over a nonce of the last minute", async () => {
  const { key } = await pairedHost();
  const nonce = parts.nonces.make();
  const request = makeRenewRequest(key, nonce);
  const refused = refusedAs("unauthenticated");
  const other = makeRenewRequest(makeNkey("user"), nonce);
  await assert.rejects(renewHost(parts, { ...request, signature: other.signature }), refused);
  await assert.rejects(renewHost(parts, { ...request, signature: "" }), refused);
  await assert.rejects(renewHost(parts, { ...request, nonce: parts.nonces.make() }), refused);
  await assert.rejects(renew(key, createNonces(randomBytes(32)).make()), refused);
  for (const bad of ["", ".", "..", "x", `${Date.now()}.x.`, `9${nonce}`, "a".repeat(10_000)])
    await assert.rejects(renew(key, bad), refused, bad.slice(0, 40));

  assert.ok("token" in (await renewHost(parts, request)));
  assert.ok("token" in (await renewHost(parts, request)), "the same again within the minute");
  now += 60_000;
  assert.ok("token" in (await renewHost(parts, request)));
  now += 1;
  await assert.rejects(renewHost(parts, request), refused);
});

test("a nonce of one node is good at every node that has the secret", () => {
  const nonce = createNonces(nonceSecret).make();
  assert.ok(createNonces(nonceSecret, () => Date.now() + 59_000).isValid(nonce));
  assert.ok(createNonces(nonceSecret, () => Date.now() - 5_000).isValid(nonce), "a clock behind");
  assert.ok(!createNonces(nonceSecret, () => Date.now() + 61_000).isValid(nonce));
  assert.notEqual(createNonces(nonceSecret).make(), createNonces(nonceSecret).make());
});

test("A7: only tokens that look right and are not valid are counted as wrong", async () => {
  let counted = 0;
  const tryToken = (token: string) =>
    pair(token, makeNkey("user"), "m1", "test", () => void (counted += 1));
  const instanceId = await newInstance();
  const token = await newToken(instanceId);
  for (const malformed of ["x", `${token}x`, token.slice(0, -1)])
    await assert.rejects(tryToken(malformed), refusedAs("not_found"));
  assert.equal(counted, 0);
  await tryToken(token);
  assert.equal(counted, 0);
  await assert.rejects(tryToken(token), refusedAs("not_found"));
  assert.equal(counted, 1, "a token that was used");
  await assert.rejects(tryToken(makeSecretText("hwp")), refusedAs("not_found"));
  assert.equal(counted, 2, "a token that nobody made");
});
