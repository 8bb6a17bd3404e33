// Members who leave: their accounts are removed from hosts at once, or when the host is back, and whoever joins
// again has to link accounts anew.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { addMember } from "@hawser/testkit/add-member.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { createLog } from "../log.ts";
import { createOwedRemovals, type OwedRemovals } from "./owed-removals.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let organization: string;
/** The owed removals as another node sees them, not the one that removed the member. */
let removals: OwedRemovals;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  organization = bed.organization.keys.owner;
  const { database } = bed.service;
  removals = createOwedRemovals({ database, hosts: bed.hosts, log: createLog("silent") });
  await node.result("update_settings", { allowedLogins: ["subscription"] }, { key: organization });
  bed.host.start_login = () => ({
    flow: "device_code",
    authorizationUrl: "https://login.example",
    userCode: "AB",
  });
});
after(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  bed.asked.length = 0;
  delete bed.host.unlink_identity;
  await bed.sql(`UPDATE instances SET status = 'online'`);
  await bed.sql(`DELETE FROM agent_accounts`);
});

const join = (email: string) => addMember(bed, node, { email });

const leave = (userId: string) => node.result("remove_member", { userId }, { key: organization });

/** Begins a login. Returns the attempt's id, and the owner id that the host received. */
async function begin(key: string, kind = "codex") {
  const input = { instanceId: bed.instanceId, kind };
  const { loginId } = await node.result("start_agent_login", input, { key });
  return { loginId, ownerId: bed.asked.at(-1)!.payload["ownerId"] as string };
}

const rows = () =>
  bed.sql<{ owner_id: string; kind: string; removal_owed: boolean }>(
    `SELECT owner_id, kind, removal_owed FROM agent_accounts ORDER BY owner_id, kind`,
  );

const unlinks = () =>
  bed.asked.filter(({ command }) => command === "unlink_identity").map(({ payload }) => payload);

/** The removal begins after the commit, beside the answer. */
async function until(isTrue: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!(await isTrue())) {
    assert.ok(Date.now() < deadline, "it did not happen");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("the accounts of a removed member are removed from a connected host at once", async () => {
  const { userId, key } = await join("at-once@acme.example");
  const { ownerId } = await begin(key, "codex");
  await begin(key, "claude_code");
  const other = await begin(bed.organization.keys.member);
  bed.host.unlink_identity = () => ({ unlinked: true });
  await leave(userId);
  await until(async () => (await rows()).length === 1);
  assert.deepEqual(unlinks(), [{ ownerId, kind: null }]);
  assert.deepEqual(await rows(), [{ owner_id: other.ownerId, kind: "codex", removal_owed: false }]);
});

test("all accounts of a removed member are removed, also if recording the attempt takes a while", async () => {
  const { userId, key } = await join("slowly@acme.example");
  await begin(key, "codex");
  await begin(key, "claude_code");
  bed.host.unlink_identity = () => ({ unlinked: true });
  await bed.sql(`CREATE FUNCTION slow_row() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN PERFORM pg_sleep(0.005); RETURN NEW; END'`);
  await bed.sql(`CREATE TRIGGER slow_row BEFORE UPDATE ON agent_accounts FOR EACH ROW
    EXECUTE FUNCTION slow_row()`);
  try {
    await leave(userId);
    await until(async () => (await rows()).length === 0);
  } finally {
    await bed.sql(`DROP TRIGGER slow_row ON agent_accounts; DROP FUNCTION slow_row`);
  }
});

test("a removal is owed while the host is away or refuses, and happens when the host is back", async () => {
  const { userId, key } = await join("away@acme.example");
  const { ownerId } = await begin(key);
  const owed = [{ owner_id: ownerId, kind: "codex", removal_owed: true }];
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  await leave(userId);
  assert.deepEqual(await rows(), owed, "it is owed when the removal of the member is committed");
  await removals.sweep();
  assert.deepEqual(unlinks(), [], "a host that is away is not asked");
  await bed.sql(`UPDATE instances SET status = 'online'`);
  const instance = parseId("instance", bed.instanceId)!;
  bed.host.unlink_identity = refusing("host_refused");
  await removals.hostIsBack(instance);
  assert.deepEqual(await rows(), owed);
  bed.host.unlink_identity = () => ({ unlinked: true });
  await removals.hostIsBack(instance);
  assert.deepEqual(await rows(), []);
  await removals.hostIsBack(instance);
  assert.deepEqual(unlinks(), [
    { ownerId, kind: null },
    { ownerId, kind: null },
  ]);
});

test("a removal whose node died is carried out by the sweep, a minute later", async () => {
  const { userId, key } = await join("crash@acme.example");
  await begin(key);
  bed.host.unlink_identity = () => ({ unlinked: true });
  // As if the node had died after the commit: the rows are marked, and nobody has asked the host.
  await bed.sql(
    `UPDATE agent_accounts SET removal_owed = true, tried_at = now() - interval '59 seconds' WHERE user_id = $1`,
    [parseId("user", userId)],
  );
  await removals.sweep();
  assert.deepEqual(unlinks(), []);
  await bed.sql(`UPDATE agent_accounts SET tried_at = now() - interval '61 seconds'`);
  await removals.sweep();
  assert.deepEqual([unlinks().length, await rows()], [1, []]);
});

test("a login that begins on the host after the removal is removed too", async () => {
  const { userId, key } = await join("late@acme.example");
  bed.host.unlink_identity = () => ({ unlinked: true });
  const answer = bed.host.start_login!;
  bed.host.start_login = async (payload, commandId) => {
    await leave(userId);
    await until(async () => (await rows()).length === 0);
    return answer(payload, commandId);
  };
  const input = { instanceId: bed.instanceId, kind: "codex" };
  await node.call("start_agent_login", input, { key });
  bed.host.start_login = answer;
  assert.deepEqual(
    (await rows()).map(({ removal_owed }) => removal_owed),
    [true],
  );
  await removals.hostIsBack(parseId("instance", bed.instanceId)!);
  assert.deepEqual([unlinks().length, await rows()], [2, []]);
});

test("N3: whoever is added again is another owner, without the accounts and attempts from before", async () => {
  const first = await join("again@acme.example");
  const before = await begin(first.key);
  await bed.sql(`UPDATE agent_accounts SET linked = true, authenticated = true`);
  // The host is away, so that it still has the account when the user is back.
  await bed.sql(`UPDATE instances SET status = 'offline'`);
  await leave(first.userId);
  await bed.sql(`UPDATE instances SET status = 'online'`);
  const second = await join("again@acme.example");
  assert.equal(second.userId, first.userId);
  const { loginId } = before;
  for (const [action, more] of [
    ["poll_agent_login", {}],
    ["submit_agent_login", { code: "c" }],
  ] as const) {
    const call = node.result(action, { loginId, ...more }, { key: second.key });
    await assert.rejects(call, { code: "not_found" });
  }
  const listing = { instanceId: bed.instanceId, all: true };
  const listed = await node.result("list_agent_identities", listing, { key: organization });
  assert.deepEqual(listed["identities"], []);

  const later = await begin(second.key);
  assert.notEqual(later.ownerId, before.ownerId);
  bed.host.unlink_identity = () => ({ unlinked: true });
  await removals.hostIsBack(parseId("instance", bed.instanceId)!);
  assert.deepEqual(unlinks(), [{ ownerId: before.ownerId, kind: null }]);
  assert.deepEqual(await rows(), [{ owner_id: later.ownerId, kind: "codex", removal_owed: false }]);
});
