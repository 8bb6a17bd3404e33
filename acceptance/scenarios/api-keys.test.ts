// API keys: created, rotated and revoked, by whom, and what they reach. They are extensions of the
// interface, so no requirement is cited.
import assert from "node:assert/strict";
import { permissionNames, roles } from "@hawser/contract";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { newEmail, newMember } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld();

const organizationKey = (permissions: (typeof permissionNames)[number][], name = "a key") => ({
  name,
  scope: "organization" as const,
  permissions,
});

scenario("A key can read its own owner and permissions", [], async ({ world }) => {
  const [{ organizationId, userId, keys }] = world.organizations;
  const owner = await world.callerFor(keys.owner).whoami({});
  assert.deepEqual(owner.organization, { organizationId, name: "Acme" });
  assert.deepEqual([...owner.permissions].sort(), [...permissionNames].sort());
  const member = await world.callerFor(keys.member).whoami({});
  assert.deepEqual(member.user, { userId, name: "ada@acme.example" });
  assert.deepEqual([...member.permissions].sort(), [...roles.member].sort());
  const none = await world.callerFor(await world.makeKey(world.organizations[0], [])).whoami({});
  assert.deepEqual(none.permissions, []);
});

scenario(
  "A new key works at once, and its secret is shown only once",
  [],
  async ({ caller, world }) => {
    const made = await caller.create_api_key(organizationKey(["instances:view"], "shown once"));
    assert.ok(made.key.startsWith("hwk_"));
    assert.deepEqual(made.apiKey.permissions, ["instances:view"]);
    assert.deepEqual([made.apiKey.expiresAt, made.apiKey.revokedAt], [null, null]);
    const user = world.callerFor(made.key);
    assert.equal((await user.try("list_instances")).status, 200);
    assertRefused(await user.try("list_sessions"), 403, "forbidden");
    const listing = await caller.try("list_api_keys");
    assert.ok(!listing.text.includes(made.key.slice(made.key.lastIndexOf("_") + 1)));
    const { apiKeys } = await caller.list_api_keys({});
    const found = apiKeys.find(({ apiKeyId }) => apiKeyId === made.apiKey.apiKeyId);
    assert.equal(found?.name, "shown once");
    assert.equal(found?.createdBy?.id, (await caller.whoami({})).apiKeyId);
  },
);

scenario("A key's record shows when it was last used", [], async ({ caller, world }) => {
  const made = await caller.create_api_key(organizationKey(["instances:view"], "used"));
  assert.equal(made.apiKey.lastUsedAt, null);
  await world.callerFor(made.key).whoami({});
  await until(
    "the use is noted",
    12_000,
    () => caller.list_api_keys({}),
    ({ apiKeys }) =>
      apiKeys.some((k) => k.apiKeyId === made.apiKey.apiKeyId && k.lastUsedAt !== null),
  );
});

scenario("A key is not created from an invalid body", [], async ({ caller }) => {
  const good = organizationKey(["instances:view"]);
  const bad: [object, string][] = [
    [{ ...good, name: "" }, "name"],
    [{ ...good, name: "n".repeat(121) }, "name"],
    [{ ...good, permissions: ["instances:view", "instances:view"] }, "permissions"],
    [{ ...good, permissions: ["everything"] }, "permissions[0]"],
    [{ ...good, scope: "agent" }, "scope"],
    [{ ...good, userId: "usr_x" }, "userId"],
    [{ ...good, expiresAt: "soon" }, "expiresAt"],
    [{ ...good, expiresAt: "2099-01-01T00:00:00" }, "expiresAt"],
    [{ ...good, expiresAt: "2001-01-01T00:00:00Z" }, "expiresAt"],
  ];
  const before = (await caller.list_api_keys({})).apiKeys.length;
  for (const [body, field] of bad) {
    assertInvalid(await caller.try("create_api_key", body), field, JSON.stringify(body));
  }
  assert.equal((await caller.list_api_keys({})).apiKeys.length, before);
});

scenario(
  "A caller cannot create a key with more permissions than their own",
  [],
  async ({ caller, world }) => {
    const [organization] = world.organizations;
    const narrow = world.callerFor(
      await world.makeKey(organization, ["access:edit", "instances:view"]),
    );
    const wide = organizationKey(["instances:view", "sessions:edit"]);
    const refused = assertRefused(await narrow.try("create_api_key", wide), 403, "forbidden");
    assert.equal(refused.fields?.[0]?.field, "permissions");
    await narrow.create_api_key(organizationKey(["instances:view"]));
    // The caller would receive the secret of a stronger key by rotating it.
    const strong = await caller.create_api_key(organizationKey(["sessions:edit"], "strong"));
    const { apiKeyId } = strong.apiKey;
    assertRefused(await narrow.try("rotate_api_key", { apiKeyId }), 403, "forbidden");
    assert.equal((await world.callerFor(strong.key).try("whoami")).status, 200);
    const promotion = { email: newEmail(), role: "owner" };
    assertRefused(await narrow.try("add_member", promotion), 403, "forbidden");
  },
);

scenario("A user's key never exceeds the user's role", [], async (context) => {
  const { caller, world } = context;
  const added = await caller.add_member({ email: newEmail(), role: "viewer" });
  const permissions = ["instances:view", "instances:edit"];
  const beyond = { name: "beyond", scope: "user", userId: added.userId, permissions };
  assertInvalid(await caller.try("create_api_key", beyond), "permissions");
  const viewer = await newMember(context, "viewer");
  assert.deepEqual((await viewer.as.whoami({})).permissions, [...roles.viewer]);
  // A stored key with more permissions has no effect.
  const options = { userId: viewer.userId };
  const wide = await world.makeKey(world.organizations[0], permissionNames, options);
  const as = world.callerFor(wide);
  assert.deepEqual((await as.whoami({})).permissions, [...roles.viewer]);
  assertRefused(await as.try("create_instance", { name: "x" }), 403, "forbidden");
});

scenario("A user's key must name the user", [], async ({ caller, world }) => {
  const body = { name: "whose", scope: "user", permissions: ["instances:view"] };
  assertRefused(await caller.try("create_api_key", body), 409, "user_key_required");
  const unknown = { ...body, userId: "no such id" };
  assertRefused(await caller.try("create_api_key", unknown), 404, "not_found");
  const [organization] = world.organizations;
  const ada = world.callerFor(
    await world.makeKey(organization, permissionNames, { userId: organization.userId }),
  );
  const own = await ada.create_api_key({ ...body, scope: "user", permissions: ["instances:view"] });
  assert.equal(own.apiKey.user?.userId, organization.userId);
});

scenario("A9: Nobody receives the secret of another user's key", [], async (context) => {
  const { caller, world } = context;
  const member = await newMember(context, "member");
  const owner = await newMember(context, "owner");
  const forMember = {
    name: "not theirs",
    scope: "user" as const,
    userId: member.userId,
    permissions: ["instances:view" as const],
  };
  const first = await member.as.whoami({});
  for (const other of [caller, owner.as]) {
    const refused = assertRefused(await other.try("create_api_key", forMember), 403, "forbidden");
    assert.match(refused.message, /only the member can create another/);
    const { apiKeyId } = first;
    assertRefused(await other.try("rotate_api_key", { apiKeyId }), 403, "forbidden");
  }
  // An agent's key can act for a user too.
  const { instance } = await caller.create_instance({ name: "host" });
  const at = { instanceId: instance.instanceId };
  const [sessionId] = await insertSessions(world, world.organizations[0], at);
  assertRefused(await caller.try("create_api_key", { ...forMember, sessionId }), 403, "forbidden");
  // A revoked key does not make room for another.
  await caller.revoke_api_key({ apiKeyId: first.apiKeyId! });
  assert.equal((await member.as.try("whoami")).status, 401);
  assertRefused(await caller.try("create_api_key", forMember), 403, "forbidden");
  // Somebody who is removed and added starts again.
  await caller.remove_member({ userId: member.userId });
  await caller.add_member({ email: member.email, role: "member" });
  const again = await caller.create_api_key(forMember);
  assert.equal(again.apiKey.user?.userId, member.userId);
  assertRefused(await caller.try("create_api_key", forMember), 403, "forbidden");
});

scenario("A9: Of two first keys that are created at once, one is", [], async ({ caller }) => {
  const { userId } = await caller.add_member({ email: newEmail(), role: "viewer" });
  const body = { name: "first", scope: "user", userId, permissions: ["instances:view"] };
  const replies = await Promise.all([1, 2, 3].map(() => caller.try("create_api_key", body)));
  assert.deepEqual(
    replies.map(({ status }) => status).sort((a, b) => a - b),
    [200, 403, 403],
  );
});

scenario(
  "A9: Members create, rotate and revoke their own keys, and no others",
  [],
  async (context) => {
    const { caller, world } = context;
    const { as, userId } = await newMember(context, "member");
    // The owner knows the first key until it is rotated.
    const { apiKeyId } = await as.whoami({});
    const rotated = await as.rotate_api_key({ apiKeyId: apiKeyId!, overlapMinutes: 0 });
    assert.equal((await as.try("whoami")).status, 401);
    const member = world.callerFor(rotated.key);
    const ci = { name: "ci", scope: "user" as const, permissions: ["sessions:view" as const] };
    const made = await member.create_api_key(ci);
    assert.deepEqual([made.apiKey.user?.userId, made.apiKey.createdBy?.id], [userId, userId]);
    const named = await member.create_api_key({ ...ci, userId });
    await member.revoke_api_key({ apiKeyId: named.apiKey.apiKeyId });

    // A key for one purpose replaces and ends itself, and reaches no other key.
    const narrow = world.callerFor(made.key);
    assertRefused(await narrow.try("create_api_key", ci), 403, "forbidden");
    const others = { apiKeyId: rotated.apiKey.apiKeyId };
    assertRefused(await narrow.try("rotate_api_key", others), 403, "forbidden");
    assertRefused(await narrow.try("revoke_api_key", others), 403, "forbidden");
    const next = await narrow.rotate_api_key({ apiKeyId: made.apiKey.apiKeyId });
    await world.callerFor(next.key).revoke_api_key({ apiKeyId: next.apiKey.apiKeyId });
    assert.equal((await world.callerFor(next.key).try("whoami")).status, 401);

    // A member cannot manage the keys of others. An unknown id gets the same refusal as a foreign one.
    const { apiKeyId: ownerKeyId } = await caller.whoami({});
    for (const [action, body] of [
      ["create_api_key", organizationKey(["instances:view"])],
      ["create_api_key", { ...ci, userId: world.organizations[0].userId }],
      ["create_api_key", { ...ci, userId: "no such id" }],
      ["rotate_api_key", { apiKeyId: ownerKeyId }],
      ["revoke_api_key", { apiKeyId: ownerKeyId }],
      ["revoke_api_key", { apiKeyId: "no such id" }],
    ] as const) {
      assertRefused(await member.try(action, body), 403, "forbidden", JSON.stringify(body));
    }
  },
);

scenario("A10: A removed owner's keys of the organization are revoked", [], async (context) => {
  const { caller, world } = context;
  const owner = await newMember(context, "owner");
  const edit = organizationKey(["access:edit", "instances:view"]);
  const direct = await owner.as.create_api_key(edit);
  const indirect = await world.callerFor(direct.key).create_api_key(edit);
  const rotated = await owner.as.rotate_api_key({
    apiKeyId: (await caller.create_api_key(edit)).apiKey.apiKeyId,
  });
  // A first key is known to whoever created it, until its user rotates it.
  const known = await newMember({ ...context, caller: owner.as }, "viewer");
  const taken = await newMember({ ...context, caller: owner.as }, "viewer");
  const { apiKeyId } = await taken.as.whoami({});
  const own = await taken.as.rotate_api_key({ apiKeyId: apiKeyId!, overlapMinutes: 0 });
  const elsewhere = await caller.create_api_key(edit);

  const { apiKeyId: ownersId } = await owner.as.whoami({});
  const { revokedApiKeyIds } = await caller.remove_member({ userId: owner.userId });
  const { entries } = await caller.list_audit_entries({ limit: 50 });
  const revoked = [owner.key, direct.key, indirect.key, rotated.key, known.key];
  for (const [index, key] of revoked.entries()) {
    assert.equal((await world.callerFor(key).try("whoami")).status, 401, `key ${index}`);
  }
  for (const key of [own.key, elsewhere.key]) {
    assert.equal((await world.callerFor(key).try("whoami")).status, 200);
  }
  const [removal] = entries.filter(({ action }) => action === "remove_member");
  const trail = entries.filter(
    ({ action, callId }) => action === "revoke_api_key" && callId === removal?.callId,
  );
  const recorded = new Set(trail.map(({ records }) => records.apiKeyId));
  assert.deepEqual(recorded, new Set(revokedApiKeyIds));
  for (const { apiKey } of [direct, indirect, rotated]) {
    assert.ok(revokedApiKeyIds.includes(apiKey.apiKeyId));
  }
  assert.ok(revokedApiKeyIds.includes(ownersId!));
});

scenario(
  "A10: A lowered role ends the stronger keys that the member created",
  [],
  async (context) => {
    const { caller, world } = context;
    const owner = await newMember(context, "owner");
    const strong = await owner.as.create_api_key(organizationKey(["access:edit"]));
    const weak = await owner.as.create_api_key(organizationKey(["sessions:edit"]));
    await caller.update_member({ userId: owner.userId, role: "member" });
    assert.equal((await world.callerFor(strong.key).try("whoami")).status, 401);
    assert.equal((await world.callerFor(weak.key).try("whoami")).status, 200);
    assert.equal((await owner.as.try("whoami")).status, 200);
  },
);

scenario("A10: No key revokes or rotates a stronger one", [], async ({ caller, world }) => {
  const [organization] = world.organizations;
  const narrow = world.callerFor(await world.makeKey(organization, ["access:edit"]));
  const strong = await caller.create_api_key(organizationKey(["access:edit", "sessions:view"]));
  const { apiKeyId } = strong.apiKey;
  for (const action of ["revoke_api_key", "rotate_api_key"]) {
    const refused = assertRefused(await narrow.try(action, { apiKeyId }), 403, "forbidden", action);
    assert.match(refused.message, /lacks sessions:view/);
  }
  assert.equal((await world.callerFor(strong.key).try("whoami")).status, 200);
  const equal = await caller.create_api_key(organizationKey(["access:edit"]));
  await narrow.revoke_api_key({ apiKeyId: equal.apiKey.apiKeyId });
});

scenario(
  "After a rotation the old secret works during the overlap, and the new one at once",
  [],
  async ({ caller, world }) => {
    const made = await caller.create_api_key(organizationKey(["instances:view"], "turning"));
    const { apiKeyId } = made.apiKey;
    const before = Date.now();
    const rotated = await caller.rotate_api_key({ apiKeyId });
    assert.notEqual(rotated.key, made.key);
    assert.deepEqual(rotated.apiKey.permissions, made.apiKey.permissions);
    assert.equal(rotated.apiKey.name, "turning");
    for (const key of [made.key, rotated.key]) {
      assert.equal((await world.callerFor(key).try("list_instances")).status, 200);
    }
    const minutes = (Date.parse(rotated.previousExpiresAt) - before) / 60_000;
    assert.ok(Math.abs(minutes - 60) < 0.2, `${minutes} minutes`);
  },
);

scenario("A rotation without overlap ends the old secret", [], async ({ caller, world }) => {
  const made = await caller.create_api_key(organizationKey(["instances:view"], "cut"));
  const { apiKeyId } = made.apiKey;
  const rotated = await caller.rotate_api_key({ apiKeyId, overlapMinutes: 0 });
  assert.equal((await world.callerFor(made.key).try("whoami")).status, 401);
  assert.equal((await world.callerFor(rotated.key).try("whoami")).status, 200);
  assertRefused(await caller.try("rotate_api_key", { apiKeyId }), 404, "not_found");
  for (const overlapMinutes of [-1, 1441, 1.5, "5", null]) {
    const reply = await caller.try("rotate_api_key", { apiKeyId, overlapMinutes });
    assertInvalid(reply, "overlapMinutes", String(overlapMinutes));
  }
});

scenario("A rotation never lengthens a key's life", [], async ({ caller }) => {
  const expiresAt = new Date(Date.now() + 30 * 60_000).toISOString();
  const made = await caller.create_api_key({ ...organizationKey(["instances:view"]), expiresAt });
  const { apiKeyId } = made.apiKey;
  const rotated = await caller.rotate_api_key({ apiKeyId, overlapMinutes: 1440 });
  assert.equal(Date.parse(rotated.previousExpiresAt), Date.parse(expiresAt));
  assert.equal(Date.parse(rotated.apiKey.expiresAt!), Date.parse(expiresAt));
});

scenario("A revoked key is refused at once and no longer listed", [], async ({ caller, world }) => {
  const made = await caller.create_api_key(organizationKey(["instances:view"], "gone"));
  const { apiKeyId } = made.apiKey;
  const revoked = world.callerFor(made.key);
  assert.equal((await revoked.try("whoami")).status, 200);
  const record = await caller.revoke_api_key({ apiKeyId });
  assert.notEqual(record.revokedAt, null);
  assert.equal((await revoked.try("whoami")).status, 401);
  const { apiKeys } = await caller.list_api_keys({});
  assert.ok(apiKeys.every((key) => key.apiKeyId !== apiKeyId));
  assertRefused(await caller.try("rotate_api_key", { apiKeyId }), 404, "not_found");
});
