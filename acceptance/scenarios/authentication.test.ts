// Keys: where they are read from, which are refused, and what a key reaches.
import assert from "node:assert/strict";
import { crc32 } from "node:zlib";
import { agentKeyPermissions, registry, type Action, type ActionName } from "@hawser/contract";
import { request, type Caller, refusalText } from "@hawser/testkit/caller.ts";
import { insertSessions } from "@hawser/testkit/session-rows.ts";
import { mcpDoor, restDoor } from "../doors.ts";
import { connectMcp } from "../mcp-client.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";

useWorld({ nodes: 2 });

const listing = "/api/rest/actions/list_instances";
const json = { "content-type": "application/json" };

scenario(
  "The key is read from the Authorization header, and from nowhere else",
  ["auth.header"],
  async ({ world, caller }) => {
    const { key } = caller;
    const call = (headers: Record<string, string>, query = "", body = "{}") =>
      request(world.baseUrl, listing + query, {
        method: "POST",
        headers: { ...json, ...headers },
        body,
      });
    const elsewhere = [
      await call(
        {},
        `?key=${key}&api_key=${key}&access_token=${key}&authorization=Bearer%20${key}`,
      ),
      await call({ cookie: `key=${key}; authorization=Bearer ${key}` }),
      await call({}, "", JSON.stringify({ key, authorization: `Bearer ${key}` })),
      await call({ "x-api-key": key }),
      await call({ "proxy-authorization": `Bearer ${key}` }),
    ];
    for (const reply of elsewhere) assertRefused(reply, 401, "unauthenticated");
    assert.equal((await call({ authorization: `Bearer ${key}` })).status, 200);
  },
);

scenario(
  "Another scheme or an empty value counts as a missing key",
  ["auth.header.scheme", "general.error.unauthenticated"],
  async ({ world, caller }) => {
    const { key } = caller;
    const basic = Buffer.from(`${key}:`).toString("base64");
    const values = [`Basic ${key}`, `Basic ${basic}`, "Bearer", "Bearer ", key, `Bearer${key}`];
    const more = [`Bearer ${key} ${key}`, `Bearer ${key},`, `Token ${key}`, "", "Bearer nonsense"];
    const missing = await request(world.baseUrl, listing, { method: "POST", body: "{}" });
    assertRefused(missing, 401, "unauthenticated");
    assert.equal(missing.headers.get("www-authenticate"), "Bearer");
    for (const authorization of [...values, ...more]) {
      const call = { method: "POST", headers: { ...json, authorization }, body: "{}" };
      const reply = await request(world.baseUrl, listing, call);
      assertRefused(reply, 401, "unauthenticated", authorization.slice(0, 10));
      assert.equal(refusalText(reply), refusalText(missing));
    }
  },
);

scenario(
  "Unknown, altered, expired and revoked keys are refused alike",
  ["auth.key.invalid"],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const good = await world.makeKey(organization, ["instances:view"]);
    assert.equal((await world.callerFor(good).try("list_instances")).status, 200);
    const made = await caller.create_api_key({
      name: "to be revoked",
      scope: "organization",
      permissions: ["instances:view"],
    });
    assert.equal((await world.callerFor(made.key).try("list_instances")).status, 200);
    await caller.revoke_api_key({ apiKeyId: made.apiKey.apiKeyId });
    const expired = await world.makeKey(organization, ["instances:view"], {
      expiresAt: "2020-01-01T00:00:00Z",
    });
    // Well formed with a valid checksum, so that it is looked up and not found.
    const body = good.slice(0, -8).replace(/.{4}$/, "zzzz");
    const neverMade = body + crc32(body).toString(16).padStart(8, "0");
    const keys = {
      unknown: neverMade,
      altered: good.replace(/.$/, (last) => (last === "0" ? "1" : "0")),
      shortened: good.slice(0, -1),
      expired,
      revoked: made.key,
    };
    const replies = await Promise.all(
      Object.values(keys).map((key) => world.callerFor(key).try("list_instances")),
    );
    for (const reply of replies) {
      assertRefused(reply, 401, "unauthenticated");
      assert.equal(refusalText(reply), refusalText(replies[0]!));
    }
  },
);

scenario("A key works until its expiry and not a moment longer", [], async ({ world }) => {
  const expiresAt = new Date(Date.now() + 1_500).toISOString();
  const key = await world.makeKey(world.organizations[0], [], { expiresAt });
  const caller = world.callerFor(key);
  assert.equal((await caller.try("whoami")).status, 200);
  const refused = await until(
    "the key expires",
    4_000,
    () => caller.try("whoami"),
    ({ status }) => status === 401,
  );
  assert.ok(Date.now() >= Date.parse(expiresAt) - 50, "not before its time");
  assertRefused(refused, 401, "unauthenticated");
});

scenario(
  "A revoked key is refused at once on the node that revoked it, and within 5 s on every node",
  [],
  async ({ world, caller }) => {
    const made = await caller.create_api_key({
      name: "used on both nodes",
      scope: "organization",
      permissions: ["instances:view"],
    });
    const [here, there] = [world.callerFor(made.key, 0), world.callerFor(made.key, 1)];
    assert.deepEqual(
      [(await here.try("whoami")).status, (await there.try("whoami")).status],
      [200, 200],
    );
    await caller.revoke_api_key({ apiKeyId: made.apiKey.apiKeyId });
    assert.equal((await here.try("whoami")).status, 401);
    await until(
      "out on the other node",
      5_250,
      () => there.try("whoami"),
      (r) => r.status === 401,
    );
  },
);

scenario("A user's key names its user; an organization's has none", [], async ({ world }) => {
  const [organization] = world.organizations;
  const member = await world.callerFor(organization.keys.member).whoami({});
  assert.equal(member.scope, "user");
  assert.equal(member.user?.userId, organization.userId);
  const owner = await world.callerFor(organization.keys.owner).whoami({});
  assert.deepEqual([owner.scope, owner.user], ["organization", null]);
  assert.equal(owner.organization.organizationId, organization.organizationId);
});

scenario(
  "An organization's key sees the records that a user's key sees, and acts for no user",
  ["auth.key.organization_scope"],
  async ({ world, caller }) => {
    const { instanceId } = (await caller.create_instance({ name: "seen by both" })).instance;
    const member = world.callerFor(world.organizations[0].keys.member);
    const seen = await caller.list_instances({});
    assert.ok(seen.instances.some((each) => each.instanceId === instanceId));
    assert.deepEqual(await member.list_instances({}), seen);

    const { scope, user } = await caller.whoami({});
    assert.deepEqual([scope, user], ["organization", null]);
    // What a key does for its own user, this one cannot do.
    const own = { name: "whose", scope: "user", permissions: ["instances:view"] };
    assertRefused(await caller.try("create_api_key", own), 409, "user_key_required");
    const login = await caller.try("start_agent_login", { instanceId, kind: "codex" });
    assertRefused(login, 409, "user_key_required");
  },
);

scenario(
  "A key reaches the records of its own organization only",
  ["auth.key.tenant"],
  async ({ caller, stranger }) => {
    const mine = (await caller.create_instance({ name: "ours" })).instance;
    const theirs = (await stranger.create_instance({ name: "theirs" })).instance;
    const [here, there] = [await caller.list_instances({}), await stranger.list_instances({})];
    const ids = (page: typeof here) => page.instances.map(({ instanceId }) => instanceId);
    assert.ok(ids(here).includes(mine.instanceId) && !ids(here).includes(theirs.instanceId));
    assert.deepEqual(ids(there), [theirs.instanceId]);
    assert.equal(there.total, 1);
    const keys = (await stranger.list_api_keys({})).apiKeys.map(({ apiKeyId }) => apiKeyId);
    assert.ok(!keys.includes((await caller.whoami({})).apiKeyId!));
    const actors = (await stranger.list_audit_entries({})).entries.map(({ actor }) => actor.id);
    assert.deepEqual(new Set(actors), new Set([(await stranger.whoami({})).apiKeyId]));
  },
);

scenario(
  "An agent's key is refused every action that would control the service, and each try is audited",
  [],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const { instance } = await caller.create_instance({ name: "agent's host" });
    const [sessionId] = await insertSessions(world, organization, {
      instanceId: instance.instanceId,
    });
    const { key, apiKey } = await caller.create_api_key({
      name: "agent",
      scope: "organization",
      sessionId: sessionId!,
      permissions: [...agentKeyPermissions],
    });
    assert.deepEqual([apiKey.scope, apiKey.sessionId], ["agent", sessionId]);
    const agent = world.callerFor(key);
    // The three actions of the threat model, and every other action that is closed to agents.
    const named: ActionName[] = ["answer_permission", "create_exposure", "run_shell"];
    const closed = Object.entries(registry as Record<string, Action>)
      .filter(([, action]) => action.closedToAgents)
      .map(([name]) => name as ActionName);
    for (const name of named) assert.ok(closed.includes(name), name);
    for (const name of closed) assertRefused(await agent.try(name, {}), 403, "forbidden", name);
    const open = ["whoami", "list_instances", "get_instance", "list_sessions", "send_prompt"];
    for (const name of open) assert.notEqual((await agent.try(name, {})).status, 403, name);

    const { entries } = await caller.list_audit_entries({ limit: 200 });
    const tried = entries.filter(({ actor }) => actor.type === "agent_key");
    const changing = closed.filter((name) => registry[name].effect !== "reads");
    assert.deepEqual(tried.map(({ action }) => action).sort(), [...changing].sort());
    for (const { outcome, actor, apiKeyId } of tried) {
      assert.deepEqual([outcome, actor.id, apiKeyId], ["forbidden", sessionId, apiKey.apiKeyId]);
    }
  },
);

scenario(
  "An agent's key has only the permissions that agents may have",
  [],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const { instance } = await caller.create_instance({ name: "narrow" });
    const { instanceId } = instance;
    const [sessionId] = await insertSessions(world, organization, { instanceId });
    const wide = {
      name: "too wide",
      scope: "organization",
      sessionId,
      permissions: ["instances:view", "instances:delete"],
    };
    assertRefused(await caller.try("create_api_key", wide), 400, "invalid_input");
    // A stored key with more permissions has no effect.
    const key = await world.makeKey(organization, ["instances:view", "access:edit"], {
      sessionId: sessionId!,
    });
    const agent = world.callerFor(key);
    assert.deepEqual((await agent.whoami({})).permissions, ["instances:view"]);
    assertRefused(await agent.try("update_settings", {}), 403, "forbidden");
  },
);

scenario(
  "A11: Over REST and MCP, an agent's key reaches its own session and its files, and no other",
  [],
  async ({ world, caller }) => {
    const [organization] = world.organizations;
    const { instanceId } = (await caller.create_instance({ name: "shared host" })).instance;
    const [own, other] = await insertSessions(world, organization, { instanceId, count: 2 });
    const key = await world.makeKey(organization, agentKeyPermissions, { sessionId: own! });
    const agent = world.callerFor(key);
    await using client = await connectMcp(world.baseUrl, key);
    for (const door of [restDoor(agent), mcpDoor(client)]) {
      assert.equal((await door.call.get_session_summary({ sessionId: own! })).sessionId, own);
      const { sessions } = await door.call.list_sessions({});
      assert.deepEqual(
        sessions.map(({ sessionId }) => sessionId),
        [own],
      );
      for (const [action, rest] of [
        ["get_session_summary", {}],
        ["list_session_events", {}],
        ["send_prompt", { text: "do it" }],
        ["abort_session", {}],
        ["rename_session", { title: "taken over" }],
      ] as const) {
        const { code } = await door.refusal(action, { sessionId: other, ...rest });
        assert.equal(code, "not_found", action);
      }
    }
    assert.equal((await caller.get_session_summary({ sessionId: other! })).title, "a session 2");

    const upload = { method: "POST", body: "text", headers: { "content-type": "text/plain" } };
    const fileOf = async (uploader: Caller) =>
      ((await uploader.request("/api/files", upload)).body as { fileId: string }).fileId;
    const statusOf = async (fileId: string) => (await agent.request(`/api/files/${fileId}`)).status;
    assert.equal(await statusOf(await fileOf(agent)), 200);
    assert.equal(await statusOf(await fileOf(caller)), 404);
  },
);

scenario("An agent's key ends with its session", [], async ({ world, caller }) => {
  const [organization] = world.organizations;
  const { instance } = await caller.create_instance({ name: "short" });
  const { instanceId } = instance;
  for (const status of ["ended", "cleanup_failed"] as const) {
    const [sessionId] = await insertSessions(world, organization, { instanceId, status });
    const key = await world.makeKey(organization, ["instances:view"], { sessionId: sessionId! });
    assertRefused(await world.callerFor(key).try("whoami"), 401, "unauthenticated", status);
  }
});
