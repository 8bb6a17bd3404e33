// Sessions and agent accounts: what the host learns about who starts a session and gives it work, and what the
// record shows.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Refusal, agentKeyPermissions, parseId, roles } from "@hawser/contract";
import type { HostCommand } from "@hawser/host-protocol";
import { addMember } from "@hawser/testkit/add-member.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { makeOwnerId, userOfOwner } from "./owner.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let ada: string, bob: string, organization: string, agent: string;
let adaOwner: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ({ member: ada, owner: organization } = bed.organization.keys);
  ({ key: bob } = await addMember(bed, node, { email: "bob@acme.example" }));
  const { database } = bed.service;
  const { organizationId } = bed.organization;
  const sessionId = await bed.addSession();
  // Keys of agents count as such even if they were made for a user.
  const own = { userId: bed.organization.userId };
  agent = await makeKey(database, organizationId, agentKeyPermissions, { sessionId, ...own });
  const [member] = await bed.sql<{ created_at: Date }>(
    `SELECT created_at FROM memberships WHERE email = 'ada@acme.example'`,
  );
  adaOwner = `${bed.organization.userId}.${member!.created_at.getTime()}`;
});
after(() => bed[Symbol.asyncDispose]());

const placed = {
  directory: "/srv",
  worktreeBranch: null,
  model: null,
  capabilities: ["commands", "shell", "summarize"],
};

test("an owner id names a user and a time of joining", () => {
  const user_id = parseId("user", bed.organization.userId)!;
  const owner = makeOwnerId({ user_id, created_at: "2026-11-17T10:00:00.123Z" });
  assert.equal(owner, `${bed.organization.userId}.1794909600123`);
  assert.equal(userOfOwner(owner), user_id);
  for (const wrong of ["", "usr_x.1", bed.organization.userId, `${owner}x`, "ses_1.1"])
    assert.equal(userOfOwner(wrong), undefined, wrong);
});

test("the host learns the owner id of a user's key, and none of other keys", async () => {
  // The host has no account of anybody, so all sessions use its own.
  bed.host.start_session = () => placed;
  bed.host.start_session_in_clone = () => placed;
  bed.host.fork_session = () => placed;
  bed.host.restore_session = () => placed;
  const { instanceId } = bed;
  const parked = await bed.addSession({ status: "ended" });
  const calls: [action: string, input: object][] = [
    ["start_session", { instanceId, directory: "/srv" }],
    ["start_session", { instanceId, clone: { url: "https://git.example/a.git" } }],
    ["fork_session", { sessionId: await bed.addSession(), agentKind: "codex" }],
    ["restore_session", { sessionId: parked }],
  ];
  for (const [action, input] of calls) {
    for (const [key, expected] of [
      [ada, adaOwner],
      [organization, null],
    ] as const) {
      const record = await node.result(action, input, { key });
      assert.equal(bed.asked.at(-1)!.payload["ownerId"], expected, action);
      assert.equal(record["accountOf"], null, action);
    }
  }
  await node.result("start_session", { instanceId, directory: "/srv" }, { key: agent });
  assert.equal(bed.asked.at(-1)!.payload["ownerId"], null);
});

test("the record shows whose account the host uses", async () => {
  bed.host.start_session = () => ({ ...placed, ownerId: adaOwner });
  const input = { instanceId: bed.instanceId, directory: "/srv" };
  const { sessionId, accountOf } = await node.result("start_session", input);
  assert.deepEqual(accountOf, { userId: bed.organization.userId, name: "ada@acme.example" });
  const summary = await node.result("get_session_summary", { sessionId }, { key: bob });
  assert.deepEqual(summary["accountOf"], accountOf);
});

test("the log says whose account a session uses whose start took longer than its caller waited", async () => {
  bed.host.start_session_in_clone = () => {
    throw new OutcomeUnknown("It takes its time.");
  };
  const input = { instanceId: bed.instanceId, clone: { url: "https://git.example/a.git" } };
  const { sessionId, accountOf } = await node.result("start_session", input);
  assert.equal(accountOf, null);
  const { userId } = bed.organization;
  const begun = { sessionUpdate: "session_status", status: "active", reason: null };
  await bed.report(sessionId as string, begun, { sessionUpdate: "account_used", userId });
  const shown = await node.result("get_session_summary", { sessionId });
  assert.deepEqual(shown["accountOf"], { userId, name: "ada@acme.example" });
});

test("N4: the host learns who gives work to a session, and its refusal keeps its code", async () => {
  const started = { turnId: "turn_1", messageId: "m", queued: false, model: null };
  bed.host.start_session = () => ({ ...placed, ownerId: adaOwner });
  const where = { instanceId: bed.instanceId, directory: "/srv" };
  const { sessionId } = await node.result("start_session", where);
  const works: [action: string, input: object, answer: object][] = [
    ["send_prompt", { text: "go" }, started],
    ["run_command", { command: "init" }, started],
    ["run_shell", { command: "true" }, { shellId: "shell_1" }],
    ["summarize_session", {}, { turnId: "turn_1" }],
  ];
  for (const [action, more, answer] of works) {
    const input = { sessionId, ...more };
    bed.host[action as HostCommand] = ({ ownerId }) => {
      if (ownerId === adaOwner) return answer;
      throw new Refusal("account_not_yours", "It is Ada's.");
    };
    assert.ok(await node.result(action, input, { key: ada }));
    for (const key of [bob, organization]) {
      await assert.rejects(node.result(action, input, { key }), { code: "account_not_yours" });
      assert.notEqual(bed.asked.at(-1)!.payload["ownerId"], adaOwner);
    }
  }
  // A key of an agent counts as one even if it was made for the user.
  const { database } = bed.service;
  const own = { sessionId: sessionId as string, userId: bed.organization.userId };
  const { organizationId } = bed.organization;
  const ofSession = await makeKey(database, organizationId, agentKeyPermissions, own);
  const prompt = { sessionId, text: "go" };
  await assert.rejects(node.result("send_prompt", prompt, { key: ofSession }), {
    code: "account_not_yours",
  });
  // A member who was removed and added again is another owner.
  await bed.sql(`UPDATE memberships SET created_at = now() WHERE email = 'ada@acme.example'`);
  const userId = bed.organization.userId;
  const key = await makeKey(database, organizationId, roles.member, { userId });
  await assert.rejects(node.result("send_prompt", prompt, { key }), { code: "account_not_yours" });
  const shown = await node.result("get_session_summary", { sessionId }, { key });
  assert.equal((shown["accountOf"] as { name: string }).name, "former member");
});
