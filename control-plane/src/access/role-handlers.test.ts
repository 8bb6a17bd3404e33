// Roles of an organization's own: who may define them, what they do to keys, and changes at the same moment.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  parseId,
  permissionNames,
  roles,
  type MemberRecord,
  type Permission,
  type RoleRecord,
} from "@hawser/contract";
import { createTestOrganization, makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";
import type { Caller } from "../dispatch/caller.ts";
import { createAuthenticator } from "./authenticate.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let ownerKey: string;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  ownerKey = bed.organization.keys.owner;
});
after(() => bed[Symbol.asyncDispose]());

const call = <Result>(action: string, body: object, key = ownerKey) =>
  node.result(action, body, { key }) as Promise<Result>;

/** The code of the refusal, or "done". */
const outcome = async (action: string, body: object, key = ownerKey) => {
  const answer = await node.call(action, body, { key });
  return "refusal" in answer ? answer.refusal.code : "done";
};

const refusal = async (action: string, body: object, key = ownerKey) => {
  const answer = await node.call(action, body, { key });
  assert.ok("refusal" in answer, `${action} was not refused`);
  return answer.refusal;
};

let count = 0;
/** A new role that no other test has. */
async function addRole(...permissions: Permission[]): Promise<string> {
  const name = `role-${(count += 1)}`;
  await call("create_role", { name, permissions });
  return name;
}

/** A new member with a role, and a key of theirs with every permission that keys can have. */
async function addMember(role: string) {
  const email = `person${(count += 1)}@acme.example`;
  const { userId } = await call<MemberRecord>("add_member", { email, role });
  const key = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    permissionNames,
    { userId },
  );
  return { userId, key };
}

const keyWith = (...permissions: Permission[]) =>
  makeKey(bed.service.database, bed.organization.organizationId, permissions);
const createdBy = async (key: string, ...permissions: Permission[]) =>
  (
    await call<{ key: string }>(
      "create_api_key",
      { name: "made", scope: "organization", permissions },
      key,
    )
  ).key;
const permissionsOf = async (key: string) =>
  (await call<{ permissions: Permission[] }>("whoami", {}, key)).permissions.toSorted();
const works = async (key: string) => (await outcome("whoami", {}, key)) === "done";
const roleNamed = async (name: string) =>
  (await call<{ roles: RoleRecord[] }>("list_roles", {})).roles.find((each) => each.name === name);

/** The same call by a caller that a node found some seconds ago. */
async function byCached(caller: Caller, action: string, body: object): Promise<string> {
  const answer = await node.dispatcher.dispatchAs(caller, {
    action,
    body: () => Promise.resolve(body),
    callId: "test",
    transport: "test",
  });
  return "refusal" in answer ? answer.refusal.code : "done";
}

test("the roles of an organization are listed after the built-in ones, with their members", async () => {
  const name = "reviewer";
  const created = await call<RoleRecord>("create_role", {
    name,
    permissions: ["sessions:view", "instances:view"],
  });
  assert.deepEqual(created, {
    name,
    builtIn: false,
    permissions: ["instances:view", "sessions:view"],
    memberCount: 0,
  });
  await addMember(name);
  const listed = await call<{ roles: RoleRecord[] }>("list_roles", {});
  assert.deepEqual(
    listed.roles.slice(0, 3).map(({ name, builtIn, permissions }) => [name, builtIn, permissions]),
    Object.entries(roles).map(([name, permissions]) => [name, true, permissions]),
  );
  assert.equal(listed.roles.find((each) => each.name === "owner")?.memberCount, 1);
  assert.deepEqual(await roleNamed(name), { ...created, memberCount: 1 });
});

test("a role has a name of its own, and permissions that there are", async () => {
  const name = await addRole("instances:view");
  assert.equal(await outcome("create_role", { name, permissions: [] }), "already_exists");
  for (const bad of ["owner", "member", "viewer", "", "Big", "a b", "ä", "x".repeat(41), "a\n"]) {
    const refused = await refusal("create_role", { name: bad, permissions: [] });
    assert.deepEqual([refused.code, refused.details.fields?.[0]?.field], ["invalid_input", "name"]);
  }
  for (const permissions of [["all"], ["instances:view", "instances:view"]]) {
    assert.equal(await outcome("create_role", { name: "bad", permissions }), "invalid_input");
  }
  for (const action of ["update_role", "delete_role"]) {
    const rest = action === "update_role" ? { permissions: [] } : {};
    assert.equal(await outcome(action, { name: "owner", ...rest }), "invalid_input");
    const unknown = await refusal(action, { name: "no-such-role", ...rest });
    assert.match(unknown.message, /no role with this name .* list_roles lists the names/);
  }
  const email = "nobody@acme.example";
  const refused = await refusal("add_member", { email, role: "no-such-role" });
  assert.deepEqual([refused.code, refused.details.fields?.[0]?.field], ["invalid_input", "role"]);
});

test("members get a role, and their keys allow what it allows", async () => {
  const name = await addRole("instances:view", "access:view");
  const { userId, key } = await addMember(name);
  assert.deepEqual(await permissionsOf(key), ["access:view", "instances:view"]);
  const { members } = await call<{ members: MemberRecord[] }>("list_members", {});
  assert.equal(members.find((each) => each.userId === userId)?.role, name);
  assert.equal(await outcome("list_members", {}, key), "done");
  assert.equal(await outcome("create_instance", { name: "x" }, key), "forbidden");
  const changed = await call<MemberRecord>("update_member", { userId, role: "viewer" });
  assert.equal(changed.role, "viewer");
  assert.deepEqual(await permissionsOf(key), ["instances:view", "sessions:view"]);
});

test("a member creates keys within the role, and manages them with a key that has all of it", async () => {
  const name = await addRole("instances:view", "sessions:view");
  const { userId } = await addMember(name);
  const narrow = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    ["instances:view"],
    { userId },
  );
  const own = { name: "k", scope: "user" };
  const wide = { ...own, permissions: ["instances:view", "sessions:view"] };
  const refused = await refusal("create_api_key", wide, narrow);
  assert.match(refused.message, new RegExp(`your role, ${name}.*lacks sessions:view`));
  const email = "first@acme.example";
  const added = await call<MemberRecord>("add_member", { email, role: name });
  const first = { ...own, userId: added.userId };
  const beyond = await refusal("create_api_key", { ...first, permissions: ["sessions:edit"] });
  assert.match(beyond.message, new RegExp(`within the user's role, ${name}`));
  const { key } = await call<{ key: string }>("create_api_key", { ...wide, userId: added.userId });
  await call("create_api_key", { ...own, permissions: ["sessions:view"] }, key);
});

test("a changed role reaches the keys of its members, at once here and within five seconds elsewhere", async () => {
  const name = await addRole("instances:view");
  const { key } = await addMember(name);
  let now = 0;
  const elsewhere = createAuthenticator(bed.service.database.system, () => now);
  const seenElsewhere = async () => [
    ...(await elsewhere.authenticate(`Bearer ${key}`))!.permissions,
  ];
  assert.deepEqual(await seenElsewhere(), ["instances:view"]);
  await call("update_role", { name, permissions: ["sessions:view"] });
  assert.deepEqual(await permissionsOf(key), ["sessions:view"]);
  now = 5_001;
  assert.deepEqual(await seenElsewhere(), ["sessions:view"]);
});

test("lowering a role revokes the organization keys beyond it, of each member that has it", async () => {
  const name = await addRole("access:edit", "instances:view", "sessions:view");
  const [one, two] = [await addMember(name), await addMember(name)];
  const other = await addMember("owner");
  const strong = await createdBy(one.key, "access:edit", "sessions:view");
  const indirect = await createdBy(strong, "sessions:view");
  const strongToo = await createdBy(two.key, "sessions:view");
  const weak = await createdBy(two.key, "instances:view");
  const others = await createdBy(other.key, "sessions:view");
  // A key that one member handed to another is known to both.
  const { userId } = await call<MemberRecord>("add_member", {
    email: "third@acme.example",
    role: name,
  });
  const first = { name: "first", scope: "user", userId, permissions: ["sessions:view"] };
  const handed = await call<{ key: string }>("create_api_key", first, one.key);
  const changed = await call<RoleRecord>("update_role", {
    name,
    permissions: ["access:edit", "instances:view"],
  });
  assert.deepEqual([changed.memberCount, changed.permissions.length], [3, 2]);
  for (const key of [strong, indirect, strongToo, handed.key]) assert.ok(!(await works(key)));
  for (const key of [weak, others, one.key, two.key]) assert.ok(await works(key));
  const entries = await bed.sql<{ action: string }>(
    `SELECT action FROM audit_entries WHERE action IN ('update_role', 'revoke_api_key')
      ORDER BY audit_id DESC LIMIT 5`,
  );
  assert.deepEqual(entries.map(({ action }) => action).sort(), [
    ...Array.from({ length: 4 }, () => "revoke_api_key"),
    "update_role",
  ]);
});

test("a lower role of the organization's own revokes keys as a built-in one does", async () => {
  const name = await addRole("access:edit", "instances:view");
  const { userId, key } = await addMember("owner");
  const strong = await createdBy(key, "sessions:edit");
  const weak = await createdBy(key, "instances:view");
  await call("update_member", { userId, role: name });
  assert.deepEqual([await works(strong), await works(weak)], [false, true]);
});

test("a node of an earlier version takes members out of own roles", async () => {
  const name = await addRole("access:edit");
  const { userId } = await addMember("viewer");
  for (const role of ["viewer", "member"]) {
    // The second time changes nothing.
    await call("update_member", { userId, role: name });
    const kept = await call<MemberRecord>("update_member", { userId, role: name });
    assert.equal(kept.role, name);
    // As such a node does it.
    await bed.sql(
      `UPDATE memberships SET role = '${role}' WHERE user_id = '${parseId("user", userId)}'`,
    );
    const { members } = await call<{ members: MemberRecord[] }>("list_members", {});
    assert.equal(members.find((member) => member.userId === userId)!.role, role);
  }
});

test("nobody defines, widens, lowers, deletes or assigns a role with a permission that they lack", async () => {
  const strong = await addRole("access:edit", "sessions:edit");
  const weak = await addRole("instances:view");
  const { userId } = await addMember(strong);
  const viewer = await addMember("viewer");
  const narrow = await keyWith("access:edit", "instances:view");
  for (const [action, body] of [
    ["create_role", { name: "wide", permissions: ["sessions:edit"] }],
    ["update_role", { name: weak, permissions: ["instances:view", "sessions:edit"] }],
    ["update_role", { name: strong, permissions: ["access:edit"] }],
    ["delete_role", { name: strong }],
    ["add_member", { email: "x@acme.example", role: strong }],
    ["update_member", { userId: viewer.userId, role: strong }],
    ["update_member", { userId, role: weak }],
    ["remove_member", { userId }],
  ] as const) {
    const refused = await refusal(action, body, narrow);
    assert.match(refused.message, /lacks .*sessions:(edit|view)/, action);
    assert.equal(refused.code, "forbidden");
  }
  assert.equal(await roleNamed("wide"), undefined);
  assert.deepEqual((await roleNamed(weak))?.permissions, ["instances:view"]);
  assert.equal(
    await outcome("update_role", { name: weak, permissions: ["access:edit"] }, narrow),
    "done",
  );
});

test("members cannot widen the role that they have themselves", async () => {
  const name = await addRole("access:edit", "instances:view");
  const { key, userId } = await addMember(name);
  const wider = { name, permissions: ["access:edit", "instances:view", "sessions:edit"] };
  assert.equal(await outcome("update_role", wider, key), "forbidden");
  assert.equal(await outcome("update_member", { userId, role: "owner" }, key), "forbidden");
  // Lowering it is allowed, and not undone: what was given away is gone.
  assert.equal(await outcome("update_role", { name, permissions: ["access:edit"] }, key), "done");
  const back = { name, permissions: ["access:edit", "instances:view"] };
  assert.equal(await outcome("update_role", back, key), "forbidden");
  assert.deepEqual((await roleNamed(name))?.permissions, ["access:edit"]);
});

test("a node that has cached a caller grants nothing that the caller has lost", async () => {
  const name = await addRole("access:edit", "instances:view", "sessions:edit");
  const { key, userId } = await addMember(name);
  const cached = (await bed.authenticator.authenticate(`Bearer ${key}`))!;
  assert.ok(cached.permissions.has("sessions:edit"));
  await call("update_role", { name, permissions: ["access:edit", "instances:view"] });
  const wide = ["access:edit", "instances:view", "sessions:edit"];
  const organizationKey = { name: "k", scope: "organization", permissions: ["sessions:edit"] };
  for (const [action, body] of [
    ["update_role", { name, permissions: wide }],
    ["create_role", { name: "regained", permissions: wide }],
    ["create_api_key", organizationKey],
    ["add_member", { email: "friend@acme.example", role: "member" }],
  ] as const) {
    assert.equal(await byCached(cached, action, body), "forbidden", action);
  }
  await call("update_member", { userId, role: "viewer" });
  const weak = { name: "own-again", permissions: [] };
  assert.equal(await byCached(cached, "create_role", weak), "forbidden");
  await call("remove_member", { userId });
  assert.equal(await byCached(cached, "create_role", weak), "unauthenticated");
  assert.equal(await byCached(cached, "create_api_key", organizationKey), "unauthenticated");
});

test("a role that members have is not deleted", async () => {
  const name = await addRole("instances:view");
  const [one, two] = [await addMember(name), await addMember(name)];
  assert.match((await refusal("delete_role", { name })).message, /^2 members have the role/);
  await call("remove_member", { userId: one.userId });
  const refused = await refusal("delete_role", { name });
  assert.deepEqual([refused.code, refused.message.slice(0, 12)], ["role_in_use", "1 member has"]);
  await call("update_member", { userId: two.userId, role: "viewer" });
  assert.deepEqual(await call("delete_role", { name }), { name, deleted: true });
  assert.equal(await roleNamed(name), undefined);
  assert.equal(await outcome("delete_role", { name }), "not_found");
});

test("of a deletion and an assignment at the same moment, one is refused", async () => {
  for (let round = 0; round < 8; round += 1) {
    const name = await addRole("instances:view");
    const { userId, key } = await addMember("viewer");
    const [deleted, assigned] = await Promise.all([
      outcome("delete_role", { name }),
      outcome("update_member", { userId, role: name }),
    ]);
    assert.ok(
      (deleted === "done" && assigned === "invalid_input") ||
        (deleted === "role_in_use" && assigned === "done"),
      `${deleted}, ${assigned}`,
    );
    const expected = assigned === "done" ? ["instances:view"] : roles.viewer;
    assert.deepEqual(await permissionsOf(key), [...expected]);
  }
});

test("a key that is created while its creator's role is lowered does not stay beyond it", async () => {
  for (let round = 0; round < 8; round += 1) {
    const name = await addRole("access:edit", "sessions:edit");
    const owner = await addMember("owner");
    const { key } = await addMember(name);
    const body = { name: "k", scope: "organization", permissions: ["sessions:edit"] };
    const lowered = { userId: owner.userId, role: name };
    const [made, madeByOwner] = await Promise.all([
      node.call("create_api_key", body, { key }),
      node.call("create_api_key", body, { key: owner.key }),
      call("update_role", { name, permissions: ["access:edit"] }),
      call("update_member", lowered),
    ]);
    for (const answer of [made, madeByOwner]) {
      if ("refusal" in answer) assert.equal(answer.refusal.code, "forbidden");
      else assert.ok(!(await works(answer.result["key"] as string)));
    }
  }
});

test("a role that is lowered while a member gets it lowers the member too", async () => {
  for (let round = 0; round < 8; round += 1) {
    const name = await addRole("access:edit", "sessions:edit");
    const { userId, key } = await addMember("owner");
    const made = await createdBy(key, "sessions:edit");
    await Promise.all([
      call("update_member", { userId, role: name }),
      call("update_role", { name, permissions: ["access:edit"] }),
    ]);
    assert.deepEqual(await permissionsOf(key), ["access:edit"]);
    assert.equal(await works(made), false);
  }
});

test("another organization's roles do not exist", async () => {
  const name = await addRole("sessions:view");
  const globex = await createTestOrganization(bed.service.database, "Globex", "g@globex.example");
  const theirs = globex.keys.owner;
  const email = "g2@globex.example";
  for (const [action, rest] of [
    ["update_role", { permissions: [] }],
    ["delete_role", {}],
  ] as const) {
    const foreign = await refusal(action, { name, ...rest }, theirs);
    const unknown = await refusal(action, { name: "nothing", ...rest }, theirs);
    assert.deepEqual([foreign.code, foreign.message], [unknown.code, unknown.message]);
    assert.equal(foreign.code, "not_found");
  }
  assert.equal(await outcome("add_member", { email, role: name }, theirs), "invalid_input");
  // The same name is another role there, and changing it changes nothing here.
  await call("create_role", { name, permissions: ["access:edit"] }, theirs);
  await call("add_member", { email, role: name }, theirs);
  await call("update_role", { name, permissions: [] }, theirs);
  assert.deepEqual((await roleNamed(name))?.permissions, ["sessions:view"]);
  assert.equal((await roleNamed(name))?.memberCount, 0);
});

test("an organization has at most 50 roles of its own, however many are created at once", async () => {
  const globex = await createTestOrganization(bed.service.database, "Full", "f@full.example");
  const create = (n: number) =>
    outcome("create_role", { name: `r${n}`, permissions: [] }, globex.keys.owner);
  await bed.sql(
    `INSERT INTO roles (organization_id, name, permissions)
     SELECT $1, 'seed-' || n, '{}' FROM generate_series(1, 48) AS n`,
    [parseId("organization", globex.organizationId)],
  );
  const outcomes = await Promise.all([1, 2, 3, 4, 5].map(create));
  assert.equal(outcomes.filter((each) => each === "done").length, 2);
  assert.equal(outcomes.filter((each) => each === "limit_reached").length, 3);
});

test("a role with every permission is not the role of an owner", async () => {
  const lonely = await createTestOrganization(bed.service.database, "Lonely", "l@lonely.example");
  const { userId, keys } = lonely;
  await call("create_role", { name: "everything", permissions: permissionNames }, keys.owner);
  const changed = { userId, role: "everything" };
  assert.equal(await outcome("update_member", changed, keys.owner), "last_owner");
});

test("a node of an earlier version takes a member with an own role for a viewer", async () => {
  const { userId } = await addMember(await addRole(...permissionNames));
  const rows = await bed.sql<{ role: string }>(`SELECT role FROM memberships WHERE user_id = $1`, [
    parseId("user", userId),
  ]);
  assert.deepEqual(rows, [{ role: "viewer" }]);
});

test("an agent's key and a viewer's key change no role", async () => {
  const sessionId = await bed.addSession();
  const agent = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    ["sessions:view", "sessions:edit"],
    { sessionId },
  );
  for (const key of [agent, bed.organization.keys.viewer, bed.organization.keys.member]) {
    for (const action of ["list_roles", "create_role", "update_role", "delete_role"]) {
      assert.equal(await outcome(action, {}, key), "forbidden", action);
    }
  }
});
