// A token pairs one host, and another pairing replaces that host (R16, T16).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId, type RefusalCode } from "@hawser/contract";
import { makeNkey, type PairReply } from "@hawser/host-protocol";
import { moveClock } from "@hawser/testkit/clock.ts";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import { openIdentityBed, type IdentityBed } from "@hawser/testkit/identity-bed.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { makeSecretText } from "../access/secret-text.ts";
import { deleteInstance } from "./store.ts";

let bed: IdentityBed;
before(async () => {
  bed = await openIdentityBed();
});
beforeEach(() => bed.reset());
after(() => bed[Symbol.asyncDispose]());

const refusedAs = (code: RefusalCode) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

async function hostOf(instanceId: string) {
  const rows = await ownerSql(
    bed.url,
    `SELECT host_key, machine_id, daemon_version, journal_id, boot_id FROM instances
      WHERE instance_id = $1`,
    [instanceId],
  );
  return rows[0]!;
}

async function newSession(instanceId: string, status: string): Promise<string> {
  const rows = await ownerSql<{ session_id: string }>(
    bed.url,
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, status, started_by, queued_turns)
     VALUES ($1, $2, 'codex', $3, '{}', '{t2}') RETURNING session_id`,
    [bed.organizationId, instanceId, status],
  );
  return rows[0]!.session_id;
}

function sessionsOf(instanceId: string) {
  return ownerSql<{ status: string; status_reason: string | null; queued_turns: string[] }>(
    bed.url,
    `SELECT status, status_reason, queued_turns FROM sessions WHERE instance_id = $1 ORDER BY session_id`,
    [instanceId],
  );
}

test("a paired host has a token for its own subjects, and its instance knows its key and machine", async () => {
  const { instanceId, key, reply } = await bed.pairedHost();
  assert.equal(reply.instanceId, formatId("instance", instanceId));
  assert.equal(reply.commandKey, bed.keys.commandKey.publicKey);
  assert.deepEqual(bed.tokens.read(reply.token, Date.now()), {
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
  const row = (await bed.keyRow(key))!;
  assert.ok(!row.revoked && row.machine_id === "m1");
  const ahead = row.token_expires_at.getTime() - Date.now();
  assert.ok(Math.abs(ahead - bed.lifetimeSeconds * 1000) < 5_000);
  assert.equal(bed.counts.revocations, 0);
});

test("of 50 hosts with one token one is paired, and each try is in the audit trail", async () => {
  const instanceId = await bed.newInstance();
  const token = await bed.newToken(instanceId);
  const hosts = Array.from({ length: 50 }, () => makeNkey("user"));
  const tries = await Promise.allSettled(
    hosts.map((key, at) => bed.pair(token, key, `m${at}`, "race")),
  );
  const won = tries.flatMap((each, at) => (each.status === "fulfilled" ? [hosts[at]!] : []));
  assert.equal(won.length, 1);
  for (const each of tries) {
    if (each.status === "rejected")
      assert.ok(refusedAs("not_found")(each.reason), `${each.reason}`);
  }
  const kept = await ownerSql<{ public_key: string }>(
    bed.url,
    "SELECT public_key FROM host_keys WHERE instance_id = $1",
    [instanceId],
  );
  assert.deepEqual(kept, [{ public_key: won[0]!.publicKey }]);
  const trail = await ownerSql(
    bed.url,
    `SELECT outcome, input->>'refused' AS refused, count(*)::int FROM audit_entries
      WHERE action = 'pair_host' AND call_id = 'race' GROUP BY 1, 2 ORDER BY 1`,
  );
  assert.deepEqual(trail, [
    { outcome: "done", refused: null, count: 1 },
    { outcome: "not_found", refused: "redeemed before", count: 49 },
  ]);
});

test("another machine takes over: the old key is revoked and its open sessions end in error", async () => {
  const { instanceId, key: former } = await bed.pairedHost("m1");
  for (const status of ["active", "detached", "ended", "cleanup_failed"])
    await newSession(instanceId, status);
  await ownerSql(
    bed.url,
    "UPDATE instances SET journal_id = 'j1', boot_id = 'b1' WHERE instance_id = $1",
    [instanceId],
  );
  const token = await bed.newToken(instanceId);
  assert.ok(!(await bed.keyRow(former))!.revoked, "a token alone changes nothing");
  const key = makeNkey("user");
  await bed.pair(token, key, "m2");
  assert.ok((await bed.keyRow(former))!.revoked);
  assert.equal(bed.counts.revocations, 1);
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
  assert.ok(bed.provesRemoval(await bed.renew(former), instanceId, former));
  assert.ok(!bed.provesRemoval(await bed.renew(former), instanceId, key), "not of the next host");
  assert.ok("token" in (await bed.renew(key)));
});

test("the same machine with a new key loses the old key and keeps its sessions", async () => {
  const { instanceId, key: former } = await bed.pairedHost("m1");
  await newSession(instanceId, "active");
  await bed.pair(await bed.newToken(instanceId), makeNkey("user"), "m1");
  assert.ok((await bed.keyRow(former))!.revoked);
  assert.equal(bed.counts.revocations, 1);
  assert.deepEqual(await sessionsOf(instanceId), [
    { status: "active", status_reason: null, queued_turns: ["t2"] },
  ]);
});

test("agent accounts and logins are forgotten when a host is paired again, because it removes them", async () => {
  const { instanceId } = await bed.pairedHost("m1");
  const other = await bed.pairedHost("m2");
  for (const each of [instanceId, other.instanceId]) {
    await ownerSql(
      bed.url,
      `INSERT INTO agent_accounts (organization_id, instance_id, owner_id, user_id, kind)
       SELECT organization_id, instance_id, 'usr_a.1', hawser_new_id(), 'codex' FROM instances
        WHERE instance_id = $1`,
      [each],
    );
    await ownerSql(
      bed.url,
      `INSERT INTO agent_logins (organization_id, instance_id, owner_id, user_id, kind)
       SELECT organization_id, instance_id, 'usr_a.1', hawser_new_id(), 'codex' FROM instances
        WHERE instance_id = $1`,
      [each],
    );
  }
  await bed.pair(await bed.newToken(instanceId), makeNkey("user"), "m1");
  for (const table of ["agent_accounts", "agent_logins"]) {
    assert.deepEqual(await ownerSql(bed.url, `SELECT instance_id FROM ${table}`, []), [
      { instance_id: other.instanceId },
    ]);
  }
});

test("the same key may be paired again with its own instance", async () => {
  const { instanceId, key } = await bed.pairedHost();
  await bed.pair(await bed.newToken(instanceId), key);
  assert.ok(!(await bed.keyRow(key))!.revoked);
  assert.equal(bed.counts.revocations, 0);
});

test("a key of another instance, or one that was revoked, is refused and the token stays good", async () => {
  const other = await bed.pairedHost();
  const { instanceId, key: former } = await bed.pairedHost();
  const token = await bed.newToken(instanceId);
  await bed.pair(token, makeNkey("user"), "m2");
  const next = await bed.newToken(instanceId);
  await assert.rejects(bed.pair(next, other.key, "m3", "taken"), refusedAs("already_exists"));
  await assert.rejects(bed.pair(next, former, "m1", "taken"), refusedAs("already_exists"));
  const trail = await ownerSql(
    bed.url,
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
  await bed.pair(next, makeNkey("user"), "m3");
});

test("one key for two instances at the same time belongs to one of them", async () => {
  const key = makeNkey("user");
  const instances = await Promise.all(Array.from({ length: 4 }, () => bed.newInstance()));
  const issued = await Promise.all(instances.map((instance) => bed.newToken(instance)));
  const tries = await Promise.allSettled(issued.map((token) => bed.pair(token, key)));
  const won = tries.filter((each) => each.status === "fulfilled");
  assert.equal(won.length, 1);
  assert.equal((won[0] as PromiseFulfilledResult<PairReply>).value.token.split(".").length, 3);
  for (const each of tries)
    if (each.status === "rejected") assert.ok(refusedAs("already_exists")(each.reason));
});

test("an instance that is deleted, before or meanwhile, is paired with nobody", async () => {
  const instanceId = await bed.newInstance();
  const token = await bed.newToken(instanceId);
  await bed.remove(instanceId);
  await assert.rejects(bed.pair(token, makeNkey("user")), refusedAs("not_found"));

  const meanwhile = await bed.newInstance();
  const late = await bed.newToken(meanwhile);
  let trying: Promise<PairReply> | undefined;
  await bed.database.tenantTransaction(bed.organizationId, async (sql) => {
    await sql.first(deleteInstance, bed.organizationId, meanwhile);
    trying = bed.pair(late, makeNkey("user"));
    trying.catch(() => {});
    await untilOneWaits();
  });
  await assert.rejects(trying!, refusedAs("not_found"));

  const gone = await bed.newInstance();
  const last = await bed.newToken(gone);
  const [tried] = await Promise.allSettled([bed.pair(last, makeNkey("user")), bed.remove(gone)]);
  const left = await ownerSql<{ good: number }>(
    bed.url,
    `SELECT count(*)::int AS good FROM host_keys WHERE instance_id = $1 AND revoked_at IS NULL`,
    [gone],
  );
  assert.equal(left[0]!.good, 0, `whichever came first (${tried.status})`);
});

test("a pairing waits for a session's lock before it takes the instance's", async () => {
  const { instanceId } = await bed.pairedHost();
  const session = await newSession(instanceId, "active");
  const token = await bed.newToken(instanceId);
  let pairing: Promise<PairReply>;
  {
    await using _held = await holdRow(
      bed.url,
      `SELECT FROM sessions WHERE session_id = '${session}' FOR UPDATE`,
    );
    pairing = bed.pair(token, makeNkey("user"), "m2");
    await untilOneWaits();
    await ownerSql(
      bed.url,
      `SELECT FROM instances WHERE instance_id = '${instanceId}' FOR UPDATE NOWAIT`,
    );
  }
  await pairing;
});

async function untilOneWaits(): Promise<void> {
  const deadline = Date.now() + 5_000;
  while ((await waitingStatements(bed.url)) !== 1) {
    assert.ok(Date.now() < deadline, "the pairing did not wait for a lock");
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test("what is no user's key, or no token, is refused without a trace", async () => {
  const token = await bed.newToken(await bed.newInstance());
  for (const kind of ["account", "operator", "server"] as const)
    await assert.rejects(bed.pair(token, makeNkey(kind)), refusedAs("invalid_input"));
  const mistyped = token.slice(0, -1) + (token.endsWith("0") ? "1" : "0");
  for (const bad of ["", "hwp_nonsense", mistyped])
    await assert.rejects(bed.pair(bad, makeNkey("user")), refusedAs("not_found"));
  await bed.pair(token, makeNkey("user"));
});

test("a token is good for 15 minutes of database time", async () => {
  const early = await bed.newToken(await bed.newInstance());
  const late = await bed.newToken(await bed.newInstance());
  await moveClock(bed.url, 15 * 60 - 1);
  await bed.pair(early, makeNkey("user"));
  await moveClock(bed.url, 15 * 60 + 1);
  await assert.rejects(bed.pair(late, makeNkey("user"), "m1", "late"), refusedAs("not_found"));
  const trail = await ownerSql(
    bed.url,
    "SELECT input->>'refused' AS refused FROM audit_entries WHERE call_id = 'late'",
  );
  assert.deepEqual(trail, [{ refused: "expired" }]);
});

test("A7: only tokens that look right and are not valid are counted as wrong", async () => {
  let counted = 0;
  const tryToken = (token: string) =>
    bed.pair(token, makeNkey("user"), "m1", "test", () => void (counted += 1));
  const instanceId = await bed.newInstance();
  const token = await bed.newToken(instanceId);
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
