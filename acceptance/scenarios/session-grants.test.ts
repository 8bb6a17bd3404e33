// Grants: members who see, answer or prompt single sessions. They are extensions of the interface, so no
// requirement is cited. What grants reach, action by action, is in control-plane/src/grant-reach.test.ts.
import assert from "node:assert/strict";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { newEmail } from "../new-member.ts";
import { assertInvalid, assertRefused } from "../refusal.ts";
import { scenario, until, useWorld, type Context } from "../scenario.ts";

useWorld();

/** A host with two sessions. */
async function twoSessions({ caller, world }: Context): Promise<[string, string]> {
  const { instanceId } = (await caller.create_instance({ name: "host" })).instance;
  const made = await insertSessions(world, world.organizations[0], { instanceId, count: 2 });
  return [made[0]!, made[1]!];
}

/** A member whose role allows nothing, and a caller with their key. */
async function newGuest({ caller, world }: Context) {
  const { roles } = await caller.list_roles({});
  if (roles.every(({ name }) => name !== "guest")) {
    await caller.create_role({ name: "guest", permissions: [] });
  }
  const { userId } = await caller.add_member({ email: newEmail(), role: "guest" });
  const first = { name: "guest", scope: "user" as const, userId, permissions: [] };
  const { key } = await caller.create_api_key(first);
  return { userId, as: world.callerFor(key) };
}

scenario("A guest sees the session that was granted, and nothing else", [], async (context) => {
  const { caller } = context;
  const [sessionId, other] = await twoSessions(context);
  const { userId, as } = await newGuest(context);
  assertRefused(await as.try("list_sessions"), 403, "forbidden");
  const granted = await caller.grant_session({ sessionId, userId, level: "view" });
  assert.deepEqual([granted.user.userId, granted.level, granted.byLink], [userId, "view", false]);
  await until(
    "the grant is known",
    6_000,
    () => as.try("list_sessions"),
    ({ status }) => status === 200,
  );
  const { sessions } = await as.list_sessions({});
  assert.deepEqual(
    sessions.map((session) => session.sessionId),
    [sessionId],
  );
  assert.equal((await as.get_session_summary({ sessionId })).sessionId, sessionId);
  assertRefused(await as.try("get_session_summary", { sessionId: other }), 404, "not_found");
  assertRefused(await as.try("rename_session", { sessionId, title: "t" }), 404, "not_found");
  assertRefused(await as.try("list_instances"), 403, "forbidden");
  assertRefused(await as.try("end_session", { sessionId }), 403, "forbidden");

  const { grants } = await caller.list_session_grants({ sessionId });
  assert.deepEqual(grants, [granted]);
  await caller.revoke_session_grant({ sessionId, userId });
  assert.notEqual((await as.try("get_session_summary", { sessionId })).status, 200);
});

scenario("Members get a session by opening a link", [], async (context) => {
  const { caller, stranger } = context;
  const [sessionId] = await twoSessions(context);
  const { as } = await newGuest(context);
  const { link, token } = await caller.create_session_link({ sessionId, level: "view" });
  assert.equal(link.level, "view");
  assertInvalid(await caller.try("create_session_link", { sessionId, level: "all" }), "level");
  assert.deepEqual(await as.open_session_link({ token }), { sessionId, level: "view" });
  assert.equal((await as.try("get_session_summary", { sessionId })).status, 200);
  assertRefused(await stranger.try("open_session_link", { token }), 409, "user_key_required");
  await caller.revoke_session_link({ sessionId, level: "view" });
  assert.notEqual((await as.try("get_session_summary", { sessionId })).status, 200);
  assertRefused(await as.try("open_session_link", { token }), 404, "not_found");
});
