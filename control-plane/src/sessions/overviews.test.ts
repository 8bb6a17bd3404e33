// What search_sessions shows of each session, and the groups that sessions belong to.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId, type ResultOf, type registry } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

type Found = ResultOf<(typeof registry)["search_sessions"]>;

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());

const search = async (input: object, key = bed.organization.keys.member) =>
  (await node.result("search_sessions", input, { key })) as unknown as Found;
const idsOf = ({ sessions }: Found) => sessions.map(({ sessionId }) => sessionId);
const overviewOf = async (sessionId: string) =>
  (await search({})).sessions.find((session) => session.sessionId === sessionId)!;

/** A member with a key of their own. */
async function addPerson(name: string, role = "viewer"): Promise<{ userId: string; key: string }> {
  const member = { email: `${name}@acme.example`, role };
  const added = await node.result("add_member", member, { key: bed.organization.keys.owner });
  const userId = added["userId"] as string;
  const { organizationId } = bed.organization;
  const key = await makeKey(bed.service.database, organizationId, ["sessions:view"], { userId });
  return { userId, key };
}

const at = "2026-11-15T10:00:00.000Z";
const nothing = { permission: null, questions: null, toolCallId: null };
const raised = (requestId: string, asked: object) => ({
  sessionUpdate: "request_raised",
  requestId,
  shownHash: "h",
  ...nothing,
  ...asked,
});
const permission = (title: string) => ({
  type: "permission",
  permission: { title, detail: null, alwaysRules: [] },
});
const settled = (requestId: string) => ({
  sessionUpdate: "request_settled",
  requestId,
  outcome: "answered",
  answer: "once",
  answers: null,
  reason: null,
});
const newRequestId = () => formatId("request", crypto.randomUUID());
const turnStarted = (turnId: string) => ({
  sessionUpdate: "turn_started",
  turnId,
  messageId: `m-${turnId}`,
  model: null,
  agent: null,
});
const turnFinished = (turnId: string) => ({
  sessionUpdate: "turn_finished",
  turnId,
  outcome: "completed",
  reason: null,
});
const shell = (word: string, rest: object = {}) => ({
  sessionUpdate: word,
  shellId: "s1",
  ...rest,
});

test("an overview follows a turn from its start to its end", async () => {
  const sessionId = await bed.addSession();
  const created = await overviewOf(sessionId);
  assert.equal(created.lastActivityAt, created.createdAt);
  assert.deepEqual(
    [created.activity, created.turnStartedAt, created.lastSeq, created.lastOutcome],
    ["idle", null, 0, null],
  );
  await bed.report(sessionId, turnStarted("t1"));
  const running = await overviewOf(sessionId);
  assert.deepEqual(
    [running.activity, running.turnStartedAt, running.lastActivityAt, running.lastSeq],
    ["running", at, at, 1],
  );
  assert.deepEqual([running.lastOutcome, running.lastOutcomeSeq], [null, null]);
  const queued = { turnId: "t2", messageId: "m2" };
  await bed.report(sessionId, { sessionUpdate: "prompt_queued", ...queued, text: "go" });
  assert.equal((await overviewOf(sessionId)).queuedPrompts, 1);
  const dropped = { sessionUpdate: "prompt_dropped", ...queued, reason: "stopped" };
  await bed.report(sessionId, dropped, turnFinished("t1"));
  const ended = await overviewOf(sessionId);
  assert.deepEqual(
    [ended.activity, ended.turnStartedAt, ended.lastSeq, ended.queuedPrompts],
    ["idle", at, 4, 0],
  );
  assert.deepEqual([ended.lastOutcome, ended.lastOutcomeSeq], ["completed", 4]);
  assert.equal(ended.version, running.version);
  bed.host.rename_session = () => ({});
  await node.result("rename_session", { sessionId, title: "another" });
  assert.notEqual((await overviewOf(sessionId)).version, running.version);
});

test("the state of a log that an earlier version has stored is not dated", async () => {
  const sessionId = await bed.addSession({ applied_seq: "7" });
  const { lastActivityAt, turnStartedAt, lastSeq } = await overviewOf(sessionId);
  assert.deepEqual([lastActivityAt, turnStartedAt, lastSeq], [null, null, 7]);
});

test("an overview counts open requests and shows the oldest", async () => {
  const sessionId = await bed.addSession();
  const [first, second] = [newRequestId(), newRequestId()];
  await bed.report(sessionId, turnStarted("t1"), raised(first, permission("p".repeat(300))));
  const question = { question: "Which?", options: [], multiple: false, freeText: true };
  await bed.report(sessionId, raised(second, { type: "question", questions: [question] }));
  const both = await overviewOf(sessionId);
  assert.equal(both.openRequestCount, 2);
  const title = "p".repeat(200);
  assert.deepEqual(both.oldestRequest, {
    requestId: first,
    type: "permission",
    title,
    raisedAt: at,
  });
  await bed.report(sessionId, settled(first));
  const one = await overviewOf(sessionId);
  assert.deepEqual([one.openRequestCount, one.oldestRequest?.title], [1, "Which?"]);
  await bed.sql("UPDATE requests SET status = 'undeliverable' WHERE request_id = $1", [
    parseId("request", second),
  ]);
  assert.equal((await overviewOf(sessionId)).openRequestCount, 1, "can be answered again");
  await bed.sql("UPDATE sessions SET status = 'ended' WHERE session_id = $1", [
    parseId("session", sessionId),
  ]);
  const over = await overviewOf(sessionId);
  assert.deepEqual([over.openRequestCount, over.oldestRequest], [0, null]);
});

test("each session is in the first group that fits", async () => {
  await using own = await openSessionBed();
  const ownNode = own.addNode();
  const [other] = await own.sql<{ id: string }>(
    `INSERT INTO instances (organization_id, name, status) VALUES ($1, 'other', 'online')
     RETURNING instance_id AS id`,
    [own.organizationId],
  );
  const elsewhere = other!.id;
  const asking = async (columns = {}) => {
    const sessionId = await own.addSession(columns);
    await own.report(sessionId, turnStarted("t1"), raised(newRequestId(), permission("p")));
    return sessionId;
  };
  const working = async (...updates: Parameters<SessionBed["report"]>[1][]) => {
    const sessionId = await own.addSession();
    await own.report(sessionId, ...updates);
    return sessionId;
  };
  const answeredId = newRequestId();
  const expected = {
    waiting: [await asking({ title: "asks" }), await asking()],
    running: [
      await working(turnStarted("t1")),
      await working(turnStarted("t1"), raised(answeredId, permission("p")), settled(answeredId)),
      await working(shell("shell_started", { agent: null })),
      await own.addSession({ activity: "starting" }),
      await own.addSession({ queued_turns: "{t2}" }),
    ],
    idle: [
      await own.addSession({ title: "rests" }),
      await working(turnStarted("t1"), turnFinished("t1")),
      await own.addSession({ status: "detached" }),
      await own.addSession({ status: "error", turn_id: "t1" }),
      await working(
        shell("shell_started", { agent: null }),
        shell("shell", { exitCode: 0, output: "", reason: null, agent: null }),
      ),
    ],
    ended: [
      await own.addSession({ status: "ended" }),
      await own.addSession({ status: "cleanup_failed" }),
    ],
  };
  const late = await asking();
  await own.sql("UPDATE sessions SET status = 'ended' WHERE session_id = $1", [
    parseId("session", late),
  ]);
  expected.ended.push(late);
  const overThere = await own.addSession();
  await own.sql("UPDATE sessions SET instance_id = $1 WHERE session_id = $2", [
    elsewhere,
    parseId("session", overThere),
  ]);

  const find = async (input: object, key = own.organization.keys.member) =>
    (await ownNode.result("search_sessions", input, { key })) as unknown as Found;
  const newestFirst = (ids: string[]) => ids.toSorted().toReversed();
  const { instanceId } = own;
  for (const [group, ids] of Object.entries(expected)) {
    const all = group === "idle" ? [...ids, overThere] : ids;
    assert.deepEqual(idsOf(await find({ group })), newestFirst(all), group);
    assert.deepEqual(idsOf(await find({ group, instanceId })), newestFirst(ids), group);
    const paged: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Found = await find({ group, limit: 1, ...(cursor && { cursor }) });
      paged.push(...idsOf(page));
      cursor = page.nextCursor;
    } while (cursor !== null);
    assert.deepEqual(paged, newestFirst(all), group);
  }
  const elsewhereId = formatId("instance", elsewhere);
  const ofOther = await find({ group: "idle", instanceId: elsewhereId, withCounts: true });
  assert.deepEqual(idsOf(ofOther), [overThere]);
  assert.deepEqual(ofOther.counts, { waiting: 0, running: 0, idle: 1, ended: 0 });
  assert.deepEqual(idsOf(await find({ group: "waiting", query: "ASKS" })), [expected.waiting[0]]);
  assert.deepEqual(idsOf(await find({ group: "idle", query: "rests" })), [expected.idle[0]]);
  assert.deepEqual(idsOf(await find({ group: "running", query: "rests" })), []);
  assert.deepEqual(idsOf(await find({ group: "idle", status: "error" })), [expected.idle[3]]);
  assert.deepEqual(idsOf(await find({ group: "idle", status: "ended" })), []);
  assert.deepEqual(idsOf(await find({ group: "running", status: "ended" })), []);
  assert.equal((await find({})).counts, null);
  const { counts } = await find({ withCounts: true, query: "asks", limit: 1 });
  assert.deepEqual(counts, { waiting: 2, running: 5, idle: 6, ended: 3 });
});

test("an agent's groups contain its own session and those it started", async () => {
  const own = await bed.addSession();
  await bed.report(own, turnStarted("t1"));
  const child = await bed.addSession({ ancestor_ids: `{${parseId("session", own)}}` });
  const stranger = await bed.addSession();
  await bed.report(stranger, turnStarted("t1"), raised(newRequestId(), permission("p")));
  const key = await makeKey(
    bed.service.database,
    bed.organization.organizationId,
    ["sessions:view"],
    { sessionId: own },
  );
  assert.deepEqual(idsOf(await search({ group: "running" }, key)), [own]);
  assert.deepEqual(idsOf(await search({ group: "waiting" }, key)), []);
  const idle = await search({ group: "idle", withCounts: true }, key);
  assert.deepEqual(idsOf(idle), [child]);
  assert.deepEqual(idle.counts, { waiting: 0, running: 1, idle: 1, ended: 0 });
  assert.equal(idle.sessions[0]!.readSeq, null);
});

test("a guest's groups contain what was granted", async () => {
  const owner = { key: bed.organization.keys.owner };
  await node.result("create_role", { name: "guest", permissions: [] }, owner);
  const { userId, key } = await addPerson("guest", "guest");
  const [granted, hidden] = [await bed.addSession(), await bed.addSession()];
  for (const sessionId of [granted, hidden]) {
    await bed.report(sessionId, turnStarted("t1"), raised(newRequestId(), permission("p")));
  }
  await node.result("grant_session", { sessionId: granted, userId, level: "view" }, owner);
  const waiting = await search({ group: "waiting", withCounts: true }, key);
  assert.deepEqual(idsOf(waiting), [granted]);
  assert.deepEqual(waiting.counts, { waiting: 1, running: 0, idle: 0, ended: 0 });
  const [shown] = waiting.sessions;
  assert.deepEqual([shown!.openRequestCount, shown!.readSeq], [1, 0]);
  assert.deepEqual(idsOf(await search({ group: "idle" }, key)), []);
});

test("at most 100 requests of a session are counted, and 1,000 sessions of a group", async () => {
  await using own = await openSessionBed();
  const sessionId = await own.addSession();
  // Without triggers, which would count each of them.
  await own.sql(
    `DO $$ BEGIN
       SET LOCAL session_replication_role = replica;
       INSERT INTO requests (organization_id, request_id, session_id, instance_id, type, shown, shown_hash, raised_at)
       SELECT organization_id, gen_random_uuid(), session_id, instance_id, 'permission', '{}', '', now()
         FROM sessions, generate_series(1, 101);
       INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, status, ancestor_ids)
       SELECT organization_id, instance_id, agent_kind, started_by, 'ended', '{}'
         FROM sessions, generate_series(1, 1001) WHERE session_id = '${parseId("session", sessionId)}';
     END $$`,
  );
  const options = { key: own.organization.keys.member };
  const input = { group: "waiting", withCounts: true };
  const found = (await own.addNode().result("search_sessions", input, options)) as unknown as Found;
  assert.deepEqual(
    found.sessions.map(({ openRequestCount, oldestRequest }) => [
      openRequestCount,
      oldestRequest?.title,
    ]),
    [[100, null]],
  );
  assert.deepEqual(found.counts, { waiting: 1, running: 0, idle: 0, ended: 1_000 });
});

const mark = async (sessionId: string, seq: number, key: string) => {
  const answer = await node.call("mark_session_read", { sessionId, seq }, { key });
  return "refusal" in answer ? answer.refusal.code : answer.result["readSeq"];
};
const readSeq = async (sessionId: string, key: string) =>
  (await search({}, key)).sessions.find((session) => session.sessionId === sessionId)!.readSeq;

test("a person's mark is their own, never goes back, and is at most the newest entry", async () => {
  const [{ key }, another] = [await addPerson("mira"), await addPerson("jonas")];
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turnStarted("t1"), turnFinished("t1"));
  assert.equal(await readSeq(sessionId, key), 0);
  assert.equal(await mark(sessionId, 1, key), 1);
  assert.equal(await mark(sessionId, 50, key), 2);
  assert.equal(await mark(sessionId, 1, key), 2);
  assert.deepEqual([await readSeq(sessionId, key), await readSeq(sessionId, another.key)], [2, 0]);
});

test("a key that belongs to no person marks nothing", async () => {
  const sessionId = await bed.addSession();
  const { organizationId } = bed.organization;
  const key = await makeKey(bed.service.database, organizationId, ["sessions:view"]);
  assert.equal(await mark(sessionId, 1, key), "user_key_required");
  assert.equal(await readSeq(sessionId, key), null);
});

test("marks end with their session, and with the membership of their person", async () => {
  const { owner } = bed.organization.keys;
  const { userId, key } = await addPerson("reader");
  const [deleted, kept] = [await bed.addSession({ status: "ended" }), await bed.addSession()];
  const marks = () =>
    bed.sql("SELECT FROM session_reads WHERE user_id = $1", [parseId("user", userId)]);
  for (const sessionId of [deleted, kept]) assert.equal(await mark(sessionId, 0, key), 0);
  assert.equal((await marks()).length, 2);
  await node.result("delete_session", { sessionId: deleted }, { key: owner });
  assert.equal((await marks()).length, 1);
  assert.equal(await mark(deleted, 0, key), "not_found");
  await node.result("remove_member", { userId }, { key: owner });
  assert.equal((await marks()).length, 0);
});
