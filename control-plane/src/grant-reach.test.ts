// What a member reaches by grants alone, for every action that is open to grants: the sessions that were granted at
// the action's level or a higher one. Everything else looks as if it did not exist.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  formatId,
  grantLevels,
  parseId,
  permissionNames,
  registry,
  type Action,
  type GrantLevel,
  type Permission,
} from "@hawser/contract";
import { createTestOrganization, makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { z } from "zod";
import { statement } from "./postgres/statement.ts";
import { createLiveWatch } from "./session-log/live-watch.ts";
import { createSessionViews } from "./session-log/view.ts";
import { keysOnly } from "./transports/credentials.ts";
import { sessionStreamTransport } from "./transports/session-stream.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
/** A member whose role allows nothing. */
let guest: { userId: string; key: string };
/** One session for each level that the guest has, and two that were not granted. */
let granted: Record<GrantLevel, string>;
let foreign: string, foreignElsewhere: string, foreignHost: string;
const requestIds = new Map<string, string>();

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  await call("create_role", { name: "guest", permissions: [] });
  guest = await addMember("guest");
  foreign = await bed.addSession({ title: "secret" });
  granted = {
    view: await bed.addSession(),
    answer: await bed.addSession(),
    edit: await bed.addSession(),
  };
  foreignElsewhere = await bed.addSession({ title: "secret" });
  const [other] = await bed.sql<{ id: string }>(
    `INSERT INTO instances (organization_id, name, status) VALUES ($1, 'other', 'online')
     RETURNING instance_id AS id`,
    [bed.organizationId],
  );
  foreignHost = formatId("instance", other!.id);
  await bed.sql(`UPDATE sessions SET instance_id = $1 WHERE session_id = $2`, [
    other!.id,
    parseId("session", foreignElsewhere),
  ]);
  for (const id of [...Object.values(granted), foreign, foreignElsewhere]) await addRequest(id);
  const plan = { sessionUpdate: "plan", entries: [] };
  for (const id of Object.values(granted)) await bed.report(id, plan);
  for (const level of grantLevels) await grant(guest.userId, granted[level], level);
});
after(() => bed[Symbol.asyncDispose]());

const call = async (action: string, body: object, key = bed.organization.keys.owner) =>
  node.result(action, body, { key });
const outcome = async (action: string, body: object, key: string) => {
  const answer = await node.call(action, body, { key });
  return "refusal" in answer ? answer.refusal.code : "done";
};
const grant = (userId: string, sessionId: string, level: GrantLevel) =>
  call("grant_session", { sessionId, userId, level });
const see = (sessionId: string, key = guest.key) =>
  outcome("get_session_summary", { sessionId }, key);

let count = 0;
async function addMember(role: string, permissions: readonly Permission[] = permissionNames) {
  const added = await call("add_member", { email: `p${(count += 1)}@acme.example`, role });
  const userId = added["userId"] as string;
  return { userId, key: await keyOf(userId, permissions) };
}
const keyOf = (userId: string | null, permissions: readonly Permission[]) =>
  makeKey(bed.service.database, bed.organization.organizationId, permissions, { userId });

async function addRequest(sessionId: string): Promise<void> {
  const [row] = await bed.sql<{ id: string }>(
    `INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown, shown_hash, raised_at)
     SELECT organization_id, gen_random_uuid(), session_id, instance_id, 'permission', '{}', '', now()
       FROM sessions WHERE session_id = $1 RETURNING request_id AS id`,
    [parseId("session", sessionId)],
  );
  requestIds.set(sessionId, formatId("request", row!.id));
}

/** What an open action needs besides ids. A new one needs a line here. */
const otherFields: Record<string, object> = {
  list_sessions: {},
  search_sessions: {},
  get_session_summary: {},
  get_session_diff: {},
  get_session_file_diff: { path: "a" },
  get_session_git: {},
  list_session_events: {},
  search_session_events: { query: "x" },
  list_session_turns: {},
  wait_for_session: { timeoutSeconds: 1 },
  list_queued_prompts: {},
  read_session_entry: { seq: 1 },
  list_session_rules: {},
  list_pending_requests: {},
  search_requests: { scope: "all" },
  get_request: {},
  mark_session_read: { seq: 1 },
  answer_permission: { answer: "once" },
  answer_question: { reject: true },
  send_prompt: { text: "go" },
  abort_session: {},
  update_queued_prompt: { messageId: "msg_x", text: "go", version: 0 },
  hold_queued_prompt: { messageId: "msg_x" },
  move_queued_prompt: { messageId: "msg_x", beforeMessageId: null },
  remove_queued_prompt: { messageId: "msg_x" },
  send_queued_prompt_now: { messageId: "msg_x" },
  forget_session_rule: { rule: "ls" },
  rename_session: { title: "t" },
};

const actions = Object.entries(registry as Record<string, Action>);
const openToGrants = actions.filter(([, { openToGrants }]) => openToGrants !== undefined);
const unknownId = "01a1dcb3-708b-7ba5-8f6d-438dd495d039";

for (const [name, action] of openToGrants) {
  const level = action.openToGrants!;
  test(`${name} reaches sessions that were granted with ${level} or more, and nothing else`, async () => {
    const rest = otherFields[name];
    assert.ok(rest, `${name} is open to grants: give it a line in otherFields`);
    const enough = grantLevels.slice(grantLevels.indexOf(level)).map((each) => granted[each]);
    const beyond = [...Object.values(granted), foreign, foreignElsewhere].filter(
      (id) => !enough.includes(id),
    );
    const request = (id: string) => requestIds.get(id)!;
    const ids: Record<string, { within: string[]; beyond: string[] }> = {
      session: { within: enough, beyond },
      instance: { within: [bed.instanceId], beyond: [foreignHost] },
      request: { within: enough.map(request), beyond: beyond.map(request) },
    };
    const { properties = {}, required = [] } = z.toJSONSchema(action.input, { io: "input" }) as {
      properties?: Record<string, { idOf?: string }>;
      required?: string[];
    };
    for (const [field, { idOf }] of Object.entries(properties)) {
      if (idOf === undefined) continue;
      assert.ok(ids[idOf], `${name}.${field} names a ${idOf}`);
      const replyFor = async (id: string) => {
        const answer = await node.call(name, { ...rest, [field]: id }, { key: guest.key });
        return "refusal" in answer
          ? `${answer.refusal.code} ${answer.refusal.message}`
          : JSON.stringify(answer.result);
      };
      const missing = await replyFor(formatId(idOf as "session", unknownId));
      assert.match(missing, /^not_found /);
      for (const id of ids[idOf].beyond) assert.equal(await replyFor(id), missing);
      for (const id of ids[idOf].within) {
        const reply = await replyFor(id);
        assert.doesNotMatch(reply, /^(?:not_found|forbidden|invalid_input|internal) /);
        for (const other of [...beyond, foreignHost, "secret"]) assert.ok(!reply.includes(other));
      }
    }
    if (required.some((field) => properties[field]?.idOf !== undefined)) return;
    const text = JSON.stringify(await call(name, rest, guest.key));
    for (const id of enough) assert.ok(text.includes(id), name);
    for (const other of [...beyond, foreignHost, "secret"]) assert.ok(!text.includes(other), text);
  });
}

test("every other action is refused, and not offered", async () => {
  const open = new Set(openToGrants.map(([name]) => name));
  const own = ["create_api_key", "rotate_api_key", "revoke_api_key"];
  const phone = ["create_device_sign_in", "confirm_device_sign_in"];
  const personal = ["whoami", "open_session_link", "list_sign_ins", "revoke_sign_in", ...phone];
  const allowed = [...open, ...own, ...personal].sort();
  const listing = await node.dispatcher.list({ authorization: `Bearer ${guest.key}` });
  assert.ok("actions" in listing);
  assert.deepEqual(listing.actions.map(({ name }) => name).sort(), allowed);
  for (const [name] of actions) {
    if (!allowed.includes(name))
      assert.equal(await outcome(name, {}, guest.key), "forbidden", name);
  }
});

test("a member without a grant is refused as before", async () => {
  const { key } = await addMember("guest");
  for (const [name] of openToGrants) assert.equal(await outcome(name, {}, key), "forbidden", name);
});

test("a grant adds to a role, and does not narrow it", async () => {
  const { userId, key } = await addMember("viewer");
  await grant(userId, granted.edit, "edit");
  assert.equal(await see(foreign, key), "done");
  const rename = (sessionId: string) => outcome("rename_session", { sessionId, title: "t" }, key);
  bed.host.rename_session = () => ({});
  assert.deepEqual(
    [await rename(granted.edit), await rename(granted.view), await rename(foreign)],
    ["done", "not_found", "not_found"],
  );
});

test("only a key with every permission of the role uses grants", async () => {
  const role = "hosts-only";
  await call("create_role", { name: role, permissions: ["instances:view", "access:view"] });
  const { userId, key } = await addMember(role);
  const narrow = await keyOf(userId, ["instances:view"]);
  await grant(userId, granted.view, "view");
  assert.deepEqual(
    [await see(granted.view, key), await see(granted.view, narrow)],
    ["done", "forbidden"],
  );
  const agent = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    ["sessions:view"],
    {
      userId,
      sessionId: foreign,
    },
  );
  assert.notEqual(await see(granted.view, agent), "done");
});

test("a member whose role allows nothing can have a key for what is granted", async () => {
  const { userId } = await call("add_member", { email: "empty@acme.example", role: "guest" });
  const body = { name: "first", scope: "user", userId, permissions: [] };
  const { key } = (await call("create_api_key", body)) as { key: string };
  assert.equal(await see(granted.view, key), "forbidden");
  await grant(userId as string, granted.view, "view");
  assert.equal(await see(granted.view, key), "done");
});

test("a level is replaced, listed and revoked, and a revocation holds at once", async () => {
  const { userId, key } = await addMember("guest");
  const sessionId = granted.view;
  await grant(userId, sessionId, "edit");
  await grant(userId, sessionId, "answer");
  const listed = (await call("list_session_grants", { sessionId })) as {
    grants: { user: { userId: string }; level: string; byLink: boolean }[];
  };
  const own = listed.grants.filter((each) => each.user.userId === userId);
  assert.deepEqual(
    own.map(({ level, byLink }) => [level, byLink]),
    [["answer", false]],
  );
  // A node that has cached the caller asks the rows too.
  const cached = (await bed.authenticator.authenticate(`Bearer ${key}`))!;
  const byCached = async () => {
    const answer = await node.dispatcher.dispatchAs(cached, {
      action: "get_session_summary",
      body: () => Promise.resolve({ sessionId }),
      callId: "test",
      transport: "test",
    });
    return "refusal" in answer ? answer.refusal.code : "done";
  };
  assert.equal(await byCached(), "done");
  await call("revoke_session_grant", { sessionId, userId });
  assert.equal(await byCached(), "not_found");
  assert.equal(await see(sessionId, key), "forbidden");
  assert.equal(
    await outcome("revoke_session_grant", { sessionId, userId }, bed.organization.keys.owner),
    "done",
  );
});

test("whoever shares a session needs the permissions for it", async () => {
  const { userId } = await addMember("guest");
  const body = { sessionId: foreign, userId, level: "view" };
  const editOnly = await keyOf(null, ["sessions:edit"]);
  assert.equal(await outcome("grant_session", body, editOnly), "forbidden");
  assert.equal(
    await outcome("create_session_link", { sessionId: foreign, level: "view" }, editOnly),
    "forbidden",
  );
  // A grant is not passed on.
  const shared = { ...body, sessionId: granted.edit };
  assert.equal(await outcome("grant_session", shared, guest.key), "forbidden");
  const { key, userId: leaving } = await addMember("member");
  const cached = (await bed.authenticator.authenticate(`Bearer ${key}`))!;
  await call("update_member", { userId: leaving, role: "viewer" });
  const answer = await node.dispatcher.dispatchAs(cached, {
    action: "grant_session",
    body: () => Promise.resolve(body),
    callId: "test",
    transport: "test",
  });
  assert.ok("refusal" in answer && answer.refusal.code === "forbidden");
});

test("a link grants its level to the members who open it, until it is revoked", async () => {
  const sessionId = await bed.addSession();
  const [one, two] = [await addMember("guest"), await addMember("guest")];
  const made = await call("create_session_link", { sessionId, level: "view" });
  const token = made["token"] as string;
  assert.match(token, /^hwl_/);
  const again = { sessionId, level: "view" };
  assert.equal(
    await outcome("create_session_link", again, bed.organization.keys.owner),
    "already_exists",
  );
  for (const { key } of [one, two]) {
    assert.equal(await see(sessionId, key), "forbidden");
    assert.deepEqual(await call("open_session_link", { token }, key), { sessionId, level: "view" });
    await call("open_session_link", { token }, key);
    assert.equal(await see(sessionId, key), "done");
  }
  await grant(two.userId, sessionId, "edit");
  const listed = await call("list_session_grants", { sessionId });
  assert.equal((listed["grants"] as unknown[]).length, 3);
  assert.deepEqual(
    (listed["links"] as { level: string }[]).map(({ level }) => level),
    ["view"],
  );
  assert.ok(!JSON.stringify(listed).includes(token));
  await call("revoke_session_link", { sessionId, level: "view" });
  // What a caller granted stays.
  assert.deepEqual(
    [await see(sessionId, one.key), await see(sessionId, two.key)],
    ["forbidden", "done"],
  );
  assert.equal(await outcome("open_session_link", { token }, one.key), "not_found");
});

test("a link is for members of its organization, and the token is recorded nowhere", async () => {
  const made = await call("create_session_link", { sessionId: foreign, level: "edit" });
  const token = made["token"] as string;
  const { database } = bed.service;
  const globex = await createTestOrganization(database, "Globex", "g@globex.example");
  const open = (key: string) => outcome("open_session_link", { token }, key);
  assert.equal(await open(globex.keys.member), "not_found");
  assert.equal(await open(bed.organization.keys.owner), "user_key_required");
  const { key } = await addMember("guest");
  assert.equal(await open(key), "done");
  const entries = await bed.sql<{ input: object }>(
    `SELECT input FROM audit_entries WHERE action = 'open_session_link'`,
  );
  assert.ok(entries.length > 0);
  assert.ok(!JSON.stringify(entries).includes(token));
  await call("revoke_session_link", { sessionId: foreign, level: "edit" });
});

test("grants and links end with the session, and with the membership", async () => {
  const sessionId = await bed.addSession({ status: "ended" });
  const { userId, key } = await addMember("guest");
  await grant(userId, sessionId, "view");
  const { token } = await call("create_session_link", { sessionId, level: "view" });
  await call("open_session_link", { token }, key);
  assert.equal(await see(sessionId, key), "done");
  await call("delete_session", { sessionIds: [sessionId] });
  assert.notEqual(await see(sessionId, key), "done");
  assert.equal(await outcome("open_session_link", { token }, key), "not_found");
  const rows = () =>
    bed.sql(`SELECT FROM session_grants WHERE user_id = $1`, [parseId("user", userId)]);
  assert.equal((await rows()).length, 0);
  await grant(userId, granted.view, "view");
  await call("remove_member", { userId });
  assert.equal((await rows()).length, 0);
});

test("a prompt that the host has accepted is recorded, although the grant was revoked meanwhile", async () => {
  const { userId, key } = await addMember("guest");
  const sessionId = granted.edit;
  await grant(userId, sessionId, "edit");
  bed.host.send_prompt = async () => {
    await call("revoke_session_grant", { sessionId, userId });
    return { turnId: "turn-x", messageId: "m", queued: false, model: null };
  };
  assert.equal(await outcome("send_prompt", { sessionId, text: "go" }, key), "done");
  const [row] = await bed.sql<{ turn_id: string }>(
    `SELECT turn_id FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  assert.equal(row?.turn_id, "turn-x");
  assert.equal(await outcome("send_prompt", { sessionId, text: "go" }, key), "forbidden");
  delete bed.host.send_prompt;
});

test("a grant reaches none of the organization's uploaded files", async () => {
  await bed.sql(
    `INSERT INTO blobs (organization_id, sha256, size, stored_at) VALUES ($1, sha256('x'), 1, now())`,
    [bed.organizationId],
  );
  const made = await bed.service.database.tenantTransaction(bed.organizationId, (sql) =>
    sql.first(addFile, sql.organizationId),
  );
  const attachments = [{ mime: "text/plain", fileId: formatId("file", made!.file_id) }];
  const body = { sessionId: granted.edit, text: "read it", attachments };
  assert.equal(await outcome("send_prompt", body, guest.key), "not_found");
});

const addFile = statement<{ file_id: string }>(
  `INSERT INTO files (organization_id, blob_id, mime, kept_until)
   SELECT organization_id, blob_id, 'text/plain', hawser_now() + interval '1 day' FROM blobs
    WHERE organization_id = $1
   RETURNING file_id`,
);

test("a stream shows a granted session, and ends within five seconds of the revocation", async () => {
  const { service, follows, notices, hosts } = bed;
  const live = createLiveWatch({ notices, hosts });
  const views = createSessionViews({ database: service.database, follows, live });
  // These requests have no connection that could be counted.
  const unlimited = { during: () => () => undefined };
  const streams = sessionStreamTransport(node.dispatcher, views, unlimited, keysOnly);
  const { userId, key } = await addMember("guest");
  const open = (sessionId: string) =>
    streams.request(
      `/api/sessions/${sessionId}/events`,
      { headers: { authorization: `Bearer ${key}` } },
      {},
    );
  assert.equal((await open(granted.view)).status, 403);
  // A second grant keeps the permission, so only the session itself ends the stream.
  await grant(userId, granted.view, "view");
  await grant(userId, granted.answer, "view");
  assert.equal((await open(foreign)).status, 404);
  const response = await open(granted.view);
  assert.equal(response.status, 200);
  const others = await open(granted.answer);
  const ended = (async () => {
    for await (const _chunk of response.body!);
  })();
  const revokedAt = performance.now();
  await call("revoke_session_grant", { sessionId: granted.view, userId });
  await ended;
  assert.ok(performance.now() - revokedAt < 5_000);
  assert.equal((await open(granted.view)).status, 404);
  const reader = others.body!.getReader();
  assert.equal((await reader.read()).done, false);
  await reader.cancel();
});
