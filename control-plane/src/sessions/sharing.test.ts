// Sharing a session that uses a person's agent account: what the host is asked, what the record shows, and whose
// names the audit trail has.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { agentKeyPermissions, parseId, type AuditEntry } from "@hawser/contract";
import { addMember } from "@hawser/testkit/add-member.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
/** Ada's and Bob's keys, one of the organization, and one that an agent of Ada's holds. */
let ada: string, bob: string, organization: string, agent: string;
let bobId: string;
let sessionId: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ({ member: ada, owner: organization } = bed.organization.keys);
  ({ key: bob, userId: bobId } = await addMember(bed, node, {
    email: "bob@acme.example",
    name: "Bob",
  }));
});
after(() => bed[Symbol.asyncDispose]());
beforeEach(async () => {
  bed.asked.length = 0;
  bed.host.share_session = () => ({});
  bed.host.send_prompt = () => ({ turnId: "t1", messageId: "m1", queued: false, model: null });
  sessionId = await bed.addSession({ account_user_id: parseId("user", bed.organization.userId)! });
  agent = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    agentKeyPermissions,
    {
      userId: bed.organization.userId,
      sessionId,
    },
  );
});

const share = (key: string, userIds: string[] | null) =>
  node.result("share_session", { sessionId, userIds }, { key });

/** Bob with his time of joining, as the host knows him. */
async function bobAsOwner(): Promise<string> {
  const [member] = await bed.sql<{ created_at: Date }>(
    `SELECT created_at FROM memberships WHERE email = 'bob@acme.example'`,
  );
  return `${bobId}.${member!.created_at.getTime()}`;
}

test("the host gets the owner and the others by their memberships, and the record names them", async () => {
  const record = await share(ada, [bobId, bobId]);
  const { payload } = bed.asked.at(-1)!;
  assert.match(payload["ownerId"] as string, new RegExp(`^${bed.organization.userId}\\.\\d+$`));
  assert.deepEqual(payload["guests"], [await bobAsOwner()]);
  assert.deepEqual(record["sharedWith"], [{ userId: bobId, name: "Bob" }]);
  const everyone = await share(ada, null);
  assert.deepEqual([bed.asked.at(-1)!.payload["guests"], everyone["sharedWith"]], [null, null]);
  const withdrawn = await share(ada, []);
  assert.deepEqual([bed.asked.at(-1)!.payload["guests"], withdrawn["sharedWith"]], [[], []]);
});

test("what the host logs is shown too, and a member who joins again is not", async () => {
  await bed.report(sessionId, { sessionUpdate: "session_shared", userIds: [bobId] });
  const shown = async () => (await node.result("get_session_summary", { sessionId }))["sharedWith"];
  assert.deepEqual(await shown(), [{ userId: bobId, name: "Bob" }]);
  await bed.sql(
    `UPDATE memberships SET created_at = hawser_now() + interval '1 second' WHERE email = 'bob@acme.example'`,
  );
  assert.deepEqual(await shown(), []);
  await bed.sql(
    `UPDATE memberships SET created_at = hawser_now() - interval '1 hour' WHERE email = 'bob@acme.example'`,
  );
  await bed.report(sessionId, { sessionUpdate: "session_shared", userIds: null });
  assert.equal(await shown(), null);
});

const refusals: [who: string, key: () => string, code: string][] = [
  ["an organization's key", () => organization, "user_key_required"],
  ["an agent's key", () => agent, "forbidden"],
];

for (const [who, key, code] of refusals) {
  test(`${who} shares nothing`, async () => {
    await assert.rejects(share(key(), [bobId]), { code });
    assert.deepEqual(bed.asked, []);
  });
}

test("the host's refusal changes nothing, and a person who is no member cannot be named", async () => {
  bed.host.share_session = refusing("account_not_yours");
  await assert.rejects(share(bob, [bobId]), { code: "account_not_yours" });
  const summary = await node.result("get_session_summary", { sessionId });
  assert.deepEqual(summary["sharedWith"], []);
  await assert.rejects(share(ada, ["usr_nobody"]), { code: "not_found" });
});

test("the audit entries of another member's prompt have both names, and those of the owner one", async () => {
  await node.result("send_prompt", { sessionId, text: "Bob's." }, { key: bob });
  await node.result("send_prompt", { sessionId, text: "Ada's." }, { key: ada });
  const { entries } = (await node.result(
    "list_audit_entries",
    { limit: 10 },
    { key: organization },
  )) as { entries: AuditEntry[] };
  const prompts = entries
    .filter(({ action }) => action === "send_prompt")
    .map(({ outcome, actor, accountOf }) => [outcome, actor.name, accountOf?.name ?? null]);
  assert.deepEqual(prompts.slice(0, 4), [
    ["done", "ada@acme.example", null],
    ["accepted", "ada@acme.example", null],
    ["done", "Bob", "ada@acme.example"],
    ["accepted", "Bob", "ada@acme.example"],
  ]);
});
