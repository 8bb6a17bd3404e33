// What an agent's key reaches, for every action that is open to agents: its own session, the sessions it
// started, directly or through them, and their host. Everything else looks as if it did not exist.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { agentKeyPermissions, formatId, parseId, registry, type Action } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { z } from "zod";
import { createLiveWatch } from "./session-log/live-watch.ts";
import { createSessionViews } from "./session-log/view.ts";
import { statement } from "./postgres/statement.ts";
import { keysOnly } from "./transports/credentials.ts";
import { eventStreamTransport } from "./transports/event-stream.ts";
import { sessionStreamTransport } from "./transports/session-stream.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let key: string;
/** Ids as callers see them: three generations on the agent's host, and what belongs to others. */
let own: string, child: string, grandchild: string;
let foreign: string, foreignElsewhere: string, foreignHost: string;
/** By session. */
const requestIds = new Map<string, string>();

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  bed.host.start_session = ({ directory }) => ({
    directory,
    worktreeBranch: null,
    model: null,
    capabilities: [],
  });
  foreign = await bed.addSession({ title: "before" });
  own = await bed.addSession();
  const [other] = await bed.sql<{ id: string }>(
    `INSERT INTO instances (organization_id, name, status) VALUES ($1, 'other', 'online')
     RETURNING instance_id AS id`,
    [bed.organizationId],
  );
  foreignHost = formatId("instance", other!.id);
  foreignElsewhere = await bed.addSession();
  await bed.sql(`UPDATE sessions SET instance_id = $1 WHERE session_id = $2`, [
    other!.id,
    parseId("session", foreignElsewhere),
  ]);
  key = await agentKey(own);
  child = await start(key);
  grandchild = await start(await agentKey(child));
  await start(bed.organization.keys.member);
  for (const session of [foreign, own, grandchild]) await addRequest(session);
});
after(() => bed[Symbol.asyncDispose]());

const agentKey = (sessionId: string) =>
  makeKey(bed.service.database, bed.organization.organizationId, agentKeyPermissions, {
    sessionId,
  });

async function start(by: string): Promise<string> {
  const input = { instanceId: bed.instanceId, directory: "/srv" };
  return (await node.result("start_session", input, { key: by })).sessionId as string;
}

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
  whoami: {},
  list_instances: {},
  search_instances: {},
  get_instance: {},
  list_directories: {},
  browse_directory: { path: "/srv" },
  list_github_repos: {},
  list_agent_kinds: {},
  list_models: {},
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
  list_pending_requests: {},
  search_requests: { scope: "all" },
  get_request: {},
  start_session: { directory: "/srv" },
  send_prompt: { text: "go" },
  abort_session: {},
  rename_session: { title: "t" },
};

const openToAgents = Object.entries(registry as Record<string, Action>).filter(
  ([, action]) => !action.closedToAgents,
);

/** The fields that name a record, with what the agent's key reaches of each kind and what not. */
const request = (sessionId: string) => requestIds.get(sessionId)!;
const ids = {
  session: { within: () => [own, child, grandchild], beyond: () => [foreign, foreignElsewhere] },
  instance: { within: () => [bed.instanceId], beyond: () => [foreignHost] },
  request: { within: () => [own, grandchild].map(request), beyond: () => [request(foreign)] },
};
const isKnown = (idOf: string): idOf is keyof typeof ids => Object.hasOwn(ids, idOf);
const unknownId = "01a1dcb3-708b-7ba5-8f6d-438dd495d039";

for (const [name, action] of openToAgents) {
  test(`A11: ${name} reaches the agent's own sessions and their host, and nothing else`, async () => {
    const rest = otherFields[name];
    assert.ok(rest, `${name} is open to agents: give it a line in otherFields`);
    const { properties = {}, required = [] } = z.toJSONSchema(action.input, { io: "input" }) as {
      properties?: Record<string, { idOf?: string }>;
      required?: string[];
    };
    for (const [field, { idOf }] of Object.entries(properties)) {
      if (idOf === undefined) continue;
      assert.ok(isKnown(idOf), `${name}.${field} names a ${idOf}`);
      const refusalOf = async (id: string) => {
        const answer = await node.call(name, { ...rest, [field]: id }, { key });
        return "refusal" in answer
          ? `${answer.refusal.code} ${answer.refusal.message}`
          : JSON.stringify(answer.result);
      };
      const missing = await refusalOf(formatId(idOf, unknownId));
      assert.match(missing, /^not_found /);
      for (const id of ids[idOf].beyond()) assert.equal(await refusalOf(id), missing);
      for (const id of ids[idOf].within()) {
        const reply = await refusalOf(id);
        assert.doesNotMatch(reply, /^(?:not_found|forbidden|invalid_input|internal) /);
        for (const other of [foreign, foreignElsewhere, foreignHost])
          assert.ok(!reply.includes(other), reply);
      }
    }
    if (required.some((field) => properties[field]?.idOf !== undefined)) return;
    const text = JSON.stringify(await node.result(name, rest, { key }));
    for (const other of [foreign, foreignElsewhere, foreignHost, "other"])
      assert.ok(!text.includes(other), text);
  });
}

test("A11: lists contain the agent's own sessions with their requests and host", async () => {
  const list = async (action: string, body = {}) => node.result(action, body, { key });
  const sessions = [grandchild, child, own];
  const idsOf = (rows: unknown) => (rows as { sessionId: string }[]).map((row) => row.sessionId);
  // The two sessions that the generated test has started by itself are the child's siblings.
  for (const action of ["list_sessions", "search_sessions"]) {
    const found = idsOf((await list(action)).sessions);
    assert.deepEqual(found.slice(-3), sessions, action);
    assert.deepEqual(idsOf((await list(action, { status: "ended" })).sessions), []);
  }
  for (const action of ["list_pending_requests", "search_requests"])
    assert.deepEqual(idsOf((await list(action)).requests), [grandchild, own], action);
  const { instances, total, truncated } = await list("list_instances");
  assert.deepEqual([total, truncated], [1, false]);
  assert.equal((instances as { instanceId: string }[])[0]!.instanceId, bed.instanceId);
});

test("A11: a child's key does not reach the session that started it", async () => {
  const childKey = await agentKey(child);
  const of = async (sessionId: string) => {
    const answer = await node.call("get_session_summary", { sessionId }, { key: childKey });
    return "refusal" in answer ? answer.refusal.code : "ok";
  };
  assert.deepEqual(await Promise.all([own, child, grandchild].map(of)), ["not_found", "ok", "ok"]);
});

test("A11: streams show an agent's key its own sessions only", async () => {
  const { service, follows, notices, hosts } = bed;
  const live = createLiveWatch({ notices, hosts });
  const views = createSessionViews({ database: service.database, follows, live });
  // These requests have no connection that could be counted.
  const unlimited = { during: () => () => undefined };
  const streams = sessionStreamTransport(node.dispatcher, views, unlimited, keysOnly);
  const headers = { authorization: `Bearer ${key}` };
  const statusOf = async (sessionId: string) => {
    const response = await streams.request(`/api/sessions/${sessionId}/events`, { headers }, {});
    await response.body?.cancel();
    return response.status;
  };
  for (const id of [own, child, grandchild]) assert.equal(await statusOf(id), 200);
  for (const id of [foreign, foreignElsewhere]) assert.equal(await statusOf(id), 404);
  const feed = {
    mayFollow: () => true,
    maySee: () => true,
    follow: () => () => {},
    settled: () => Promise.resolve(),
  };
  const events = eventStreamTransport(node.dispatcher, feed, unlimited, keysOnly);
  assert.equal((await events.request("/api/events", { headers }, {})).status, 403);
});

test("A11: an agent's key uses the files that it uploaded, and no others", async () => {
  const { database } = bed.service;
  const sessionId = parseId("session", own);
  const add = async (uploader: string | null) => {
    const caller = { organizationId: bed.organizationId, sessionId: uploader };
    const made = await database.tenantTransaction(caller, (sql) =>
      sql.first(addFile, sql.organizationId),
    );
    return formatId("file", made!.file_id);
  };
  await bed.sql(
    `INSERT INTO blobs (organization_id, sha256, size, stored_at) VALUES ($1, sha256('x'), 1, now())`,
    [bed.organizationId],
  );
  bed.host.send_prompt = () => ({ turnId: "t", messageId: "m", queued: false, model: null });
  const send = async (fileId: string) => {
    const attachments = [{ mime: "text/plain", fileId }];
    const body = { sessionId: own, text: "read it", attachments };
    const answer = await node.call("send_prompt", body, { key });
    return "refusal" in answer ? answer.refusal.code : "sent";
  };
  assert.equal(await send(await add(sessionId)), "sent");
  assert.equal(await send(await add(null)), "not_found");
  assert.equal(await send(await add(parseId("session", foreign))), "not_found");
});

const addFile = statement<{ file_id: string }>(
  `INSERT INTO files (organization_id, blob_id, mime, kept_until)
   SELECT organization_id, blob_id, 'text/plain', hawser_now() + interval '1 day' FROM blobs
    WHERE organization_id = $1
   RETURNING file_id`,
);

test("a session that an agent starts begins in no wider mode than the agent's own", async () => {
  const organizationId = parseId("organization", bed.organization.organizationId);
  const setModes = async (defaultMode: string, ownMode: string) => {
    await bed.sql(
      `UPDATE organizations SET default_mode = $2, highest_mode = 'unattended' WHERE organization_id = $1`,
      [organizationId, defaultMode],
    );
    await bed.sql(`UPDATE sessions SET mode = $2 WHERE session_id = $1`, [
      parseId("session", own),
      ownMode,
    ]);
  };
  const modeOf = async (by: string) => {
    const [row] = await bed.sql<{ mode: string }>(
      `SELECT mode FROM sessions WHERE session_id = $1`,
      [parseId("session", await start(by))],
    );
    return row!.mode;
  };
  await setModes("unattended", "ask");
  assert.equal(await modeOf(key), "ask");
  assert.equal(await modeOf(bed.organization.keys.member), "unattended");
  await setModes("ask", "unattended");
  assert.equal(await modeOf(key), "ask");
});

const refusalOf = async (action: string, body: object, by = key) => {
  const answer = await node.call(action, body, { key: by });
  return "refusal" in answer ? answer.refusal : undefined;
};

test("an agent starts sessions only in the directory of its own session, and never in a clone", async () => {
  const { instanceId } = bed;
  for (const directory of ["/srv/other", "/", "/srv/", "/srv/../srv", "/srv/sub"]) {
    const refusal = await refusalOf("start_session", { instanceId, directory });
    assert.equal(refusal?.code, "forbidden", directory);
    assert.match(refusal.message, /only in the directory of its own session, \/srv\./);
  }
  const refusal = await refusalOf("start_session", { instanceId, clone: { repo: "acme/widget" } });
  assert.equal(refusal?.code, "forbidden");
  assert.equal(await refusalOf("start_session", { instanceId, directory: "/srv" }), undefined);
});

test("an agent attaches no file that the host would have to fetch", async () => {
  const send = (url: string) =>
    refusalOf("send_prompt", {
      sessionId: child,
      text: "go",
      attachments: [{ mime: "text/plain", url }],
    });
  bed.host.send_prompt = refusing("host_refused");
  for (const url of ["https://example.com/x", "HTTPS://example.com/x"])
    assert.equal((await send(url))?.code, "forbidden");
  assert.equal((await send("data:text/plain,x"))?.code, "host_refused");
});

test("a session that an agent prompts may do no more than the agent's own session now", async () => {
  bed.host.send_prompt = refusing("host_refused");
  const sentMode = async () => {
    await node.call("send_prompt", { sessionId: child, text: "go" }, { key });
    return bed.asked.at(-1)!.payload["highestMode"];
  };
  const setMode = (mode: string) =>
    bed.sql("UPDATE sessions SET mode = $1 WHERE session_id = $2", [mode, parseId("session", own)]);
  await setMode("auto");
  assert.equal(await sentMode(), "auto");
  await setMode("ask");
  assert.equal(await sentMode(), "ask");
});
