// Who may use the service: members, and the organization's settings. They are extensions of the
// interface, so no requirement is cited. API keys are in api-keys.test.ts.
import assert from "node:assert/strict";
import type { Caller } from "@hawser/testkit/caller.ts";
import { newEmail, newMember } from "../new-member.ts";
import { assertInvalid, assertRefused, refusalOf } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld();

scenario("A member is added once, whatever the case of the address", [], async ({ caller }) => {
  const email = newEmail();
  const member = await caller.add_member({ email, name: "Pat", role: "member" });
  assert.deepEqual([member.email, member.name, member.role], [email, "Pat", "member"]);
  const again = { email: email.toUpperCase(), role: "viewer" };
  assertRefused(await caller.try("add_member", again), 409, "already_exists");
  const { members } = await caller.list_members({});
  assert.equal(members.filter(({ userId }) => userId === member.userId).length, 1);
  for (const bad of ["", "x", "a@", `${"x".repeat(250)}@acme.example`]) {
    assertInvalid(await caller.try("add_member", { email: bad, role: "viewer" }), "email", bad);
  }
});

scenario("A person can be a member of two organizations", [], async ({ caller, stranger }) => {
  const email = newEmail();
  await caller.add_member({ email, name: "Known here as A", role: "member" });
  const there = await stranger.add_member({ email, role: "viewer" });
  assert.equal(there.name, null, "adding someone by address reveals nothing about them");
  const { members } = await stranger.list_members({});
  assert.ok(members.every(({ name }) => name !== "Known here as A"));
});

scenario("A change of role reaches the member's keys at once", [], async (context) => {
  const { caller } = context;
  const member = await newMember(context, "member");
  assert.equal((await member.as.try("create_instance", { name: "as member" })).status, 200);
  await caller.update_member({ userId: member.userId, role: "viewer" });
  assertRefused(await member.as.try("create_instance", { name: "x" }), 403, "forbidden");
  await caller.update_member({ userId: member.userId, role: "member" });
  assert.equal((await member.as.try("create_instance", { name: "again" })).status, 200);
  // A key keeps the permissions it was created with: a higher role adds none.
  await caller.update_member({ userId: member.userId, role: "owner" });
  assertRefused(await member.as.try("list_members"), 403, "forbidden");
  await caller.update_member({ userId: member.userId, role: "member" });
});

scenario(
  "An organization defines roles, and their members may do what they allow",
  [],
  async (context) => {
    const { caller, stranger, world } = context;
    const name = "reviewer";
    await caller.create_role({ name, permissions: ["sessions:view", "access:view"] });
    const email = newEmail();
    const member = await caller.add_member({ email, role: name });
    assert.equal(member.role, name);
    const { key } = await caller.create_api_key({
      name: "first",
      scope: "user",
      userId: member.userId,
      permissions: ["sessions:view", "access:view"],
    });
    const reviewer = world.callerFor(key);
    assert.equal((await reviewer.try("list_sessions")).status, 200);
    assertRefused(await reviewer.try("list_instances"), 403, "forbidden");
    const { roles } = await reviewer.list_roles({});
    assert.deepEqual(
      roles.map((role) => role.name),
      ["owner", "member", "viewer", name],
    );
    assert.equal(roles.at(-1)?.memberCount, 1);
    assertInvalid(await stranger.try("add_member", { email, role: name }), "role");

    await caller.update_role({ name, permissions: ["access:view"] });
    assertRefused(await reviewer.try("list_sessions"), 403, "forbidden");
    assert.deepEqual((await reviewer.whoami({})).permissions, ["access:view"]);

    assertRefused(await caller.try("delete_role", { name }), 409, "role_in_use");
    await caller.remove_member({ userId: member.userId });
    await caller.delete_role({ name });
    assertRefused(await caller.try("delete_role", { name }), 404, "not_found");
    const { entries } = await caller.list_audit_entries({ limit: 20 });
    const [changed] = entries.filter(({ action }) => action === "update_role");
    assert.deepEqual(changed?.input, { name, permissions: ["access:view"] });
  },
);

scenario("A removed member's keys stop working at once", [], async (context) => {
  const { caller } = context;
  const member = await newMember(context, "member");
  const { userId } = member;
  assert.equal((await member.as.try("whoami")).status, 200);
  const removed = await caller.remove_member({ userId });
  assert.deepEqual([removed.userId, removed.removed], [userId, true]);
  assert.equal((await member.as.try("whoami")).status, 401);
  assert.ok((await caller.list_members({})).members.every((each) => each.userId !== userId));
  assertRefused(await caller.try("remove_member", { userId }), 404, "not_found");
  // Adding the member again does not restore the old keys.
  await caller.add_member({ email: member.email, role: "member" });
  assert.equal((await member.as.try("whoami")).status, 401);
});

scenario(
  "An organization keeps an owner, even if its two owners leave at once",
  [],
  async (context) => {
    const { stranger, world } = context;
    const { userId } = world.organizations[1];
    const leave: [string, object][] = [
      ["remove_member", { userId }],
      ["update_member", { userId, role: "viewer" }],
    ];
    for (const [action, body] of leave) {
      assertRefused(await stranger.try(action, body), 409, "last_owner", action);
    }
    const second = await stranger.add_member({ email: "second@globex.example", role: "owner" });
    const replies = await Promise.all(
      [userId, second.userId].map((id) =>
        stranger.try("update_member", { userId: id, role: "member" }),
      ),
    );
    assert.deepEqual(
      replies.map(({ status }) => status).sort((a, b) => a - b),
      [200, 409],
    );
    const { members } = await stranger.list_members({});
    assert.equal(members.filter(({ role }) => role === "owner").length, 1);
  },
);

scenario("Settings change field by field", [], async ({ caller }) => {
  const before = await caller.get_settings({});
  assert.deepEqual(await caller.update_settings({}), before);
  const changed = await caller.update_settings({ timeZone: "Europe/Berlin" });
  assert.deepEqual(changed, { ...before, timeZone: "Europe/Berlin" });
  const defaultAgentPolicy = {
    allowedCommands: ["git status"],
    outsideWorktree: "refuse" as const,
  };
  await caller.update_settings({ defaultAgentPolicy, logRetentionDays: 30, highestMode: "auto" });
  assert.deepEqual(await caller.get_settings({}), {
    ...changed,
    defaultAgentPolicy,
    logRetentionDays: 30,
    highestMode: "auto",
  });
  await caller.update_settings({ highestMode: "unattended" });
  await renameAndBack(caller, before.name);
});

async function renameAndBack(caller: Caller, name: string): Promise<void> {
  await caller.update_settings({ name: "Acme Ltd" });
  assert.equal((await caller.get_settings({})).name, "Acme Ltd");
  await caller.update_settings({ name });
}

scenario("A setting out of range is refused and changes nothing", [], async ({ caller }) => {
  const before = await caller.get_settings({});
  const bad: [object, string][] = [
    [{ timeZone: "Mars/Olympus" }, "timeZone"],
    [{ timeZone: "+02:00" }, "timeZone"],
    [{ logRetentionDays: 0 }, "logRetentionDays"],
    [{ auditRetentionDays: 3651 }, "auditRetentionDays"],
    [{ defaultMode: "yolo" }, "defaultMode"],
    [{ allowedLogins: ["anything"] }, "allowedLogins[0]"],
    [{ name: "" }, "name"],
    [{ name: null }, "name"],
    [{ defaultAgentPolicy: { allowedCommands: [] } }, "defaultAgentPolicy.outsideWorktree"],
    [{ logRetentionDays: 5, zz: 1 }, "zz"],
  ];
  for (const [body, field] of bad) {
    assertInvalid(await caller.try("update_settings", body), field, JSON.stringify(body));
  }
  assert.deepEqual(await caller.get_settings({}), before);
  assert.ok(refusalOf(await caller.try("update_settings", { zz: 1 })).message.length > 0);
});
