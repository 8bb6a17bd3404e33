// What log entries cause in records, on a real PostgreSQL.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { openSessionBed, type SessionBed, type TestUpdate } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;

before(async () => void (bed = await openSessionBed()));
after(() => bed[Symbol.asyncDispose]());

const newRequestId = () => formatId("request", crypto.randomUUID());
const permission = { title: "Run ls", detail: "ls", alwaysRules: [] };
const raised = (requestId: string): TestUpdate => ({
  sessionUpdate: "request_raised",
  requestId,
  type: "permission",
  permission,
  questions: null,
  shownHash: "h",
  toolCallId: null,
});
const settled = (requestId: string, outcome: string, answer: string | null): TestUpdate => ({
  sessionUpdate: "request_settled",
  requestId,
  outcome,
  answer,
  answers: null,
  reason: null,
});
const turn = (turnId: string): TestUpdate => ({
  sessionUpdate: "turn_started",
  turnId,
  messageId: "m",
  model: { providerId: "p", modelId: "m1" },
  agent: null,
});
const finished = (turnId: string, outcome = "completed"): TestUpdate => ({
  sessionUpdate: "turn_finished",
  turnId,
  outcome,
  reason: null,
});
const status = (word: string, reason: string | null = null): TestUpdate => ({
  sessionUpdate: "session_status",
  status: word,
  reason,
});
const info = (title: string): TestUpdate => ({ sessionUpdate: "session_info_update", title });
const usage = (inputTokens: number, costUsd: number | null): TestUpdate => ({
  sessionUpdate: "usage_update",
  usage: { inputTokens, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
  costUsd,
  costIsEstimate: true,
});

test("a turn's beginning and end are the session's activity, in the order of the log", async () => {
  const sessionId = await bed.addSession({ activity: "starting" });
  await bed.report(sessionId, status("active"));
  assert.deepEqual(await workOf(sessionId), ["active", "idle", null, null]);
  await bed.report(sessionId, turn("t1"));
  assert.deepEqual(await workOf(sessionId), ["active", "running", "t1", null]);
  await bed.report(sessionId, finished("t1"), turn("t2"), finished("t2", "failed"));
  assert.deepEqual(await workOf(sessionId), ["active", "idle", "t2", "failed"]);
});

test("an open request makes a running turn wait, and its end lets it run", async () => {
  const sessionId = await bed.addSession();
  const [first, second] = [newRequestId(), newRequestId()];
  await bed.report(sessionId, turn("t1"), raised(first), raised(second));
  assert.equal((await workOf(sessionId))[1], "waiting");
  await bed.report(sessionId, settled(first, "answered", "once"));
  assert.equal((await workOf(sessionId))[1], "waiting");
  await bed.report(sessionId, settled(second, "withdrawn", null), usage(7, null));
  assert.equal((await workOf(sessionId))[1], "running");
  assert.deepEqual(await requestOf(first), ["answered", "once", null]);
  assert.deepEqual(await requestOf(second), ["withdrawn", null, null]);
});

test("raised and settled in one report is settled; raised again is open again", async () => {
  const sessionId = await bed.addSession();
  const requestId = newRequestId();
  await bed.report(sessionId, raised(requestId), settled(requestId, "withdrawn", null));
  assert.deepEqual(await requestOf(requestId), ["withdrawn", null, null]);
  await bed.report(sessionId, settled(requestId, "withdrawn", null), raised(requestId));
  assert.equal((await requestOf(requestId))[0], "pending");
});

test("a status in the log follows the machine, with its reason", async () => {
  const sessionId = await bed.addSession();
  const sentence = "The agent's process was killed.";
  await bed.report(sessionId, { ...status("error", sentence), code: "agent_lost" });
  assert.deepEqual(await statusOf(sessionId), ["error", "agent_lost"]);
  const { statusMessage } = await bed.addNode().result("get_session_summary", { sessionId });
  assert.equal(statusMessage, sentence);
  await bed.report(sessionId, turn("t1"));
  assert.deepEqual(await statusOf(sessionId), ["active", null]);
  await bed.report(sessionId, status("ended"), status("active"), turn("t2"));
  assert.deepEqual(await statusOf(sessionId), ["ended", null]);
  const [count] = await bed.sql<{ active_session_count: number; active: number }>(
    `SELECT active_session_count, (SELECT count(*)::int FROM sessions WHERE status = 'active') AS active
       FROM instances`,
  );
  assert.equal(count!.active_session_count, count!.active);
});

test("of prompts that a host reports without end, the newest hundred are kept", async () => {
  const sessionId = await bed.addSession();
  const queued = (from: number, to: number) =>
    Array.from({ length: to - from }, (_, at) => ({
      sessionUpdate: "prompt_queued",
      turnId: `t${from + at}`,
      messageId: "m",
      text: "",
    }));
  const dropped = (turnId: string) => ({
    sessionUpdate: "prompt_dropped",
    turnId,
    messageId: "m",
    reason: "",
  });
  const queue = async () => {
    const [row] = await bed.sql<{ queued_turns: string[] }>(
      `SELECT queued_turns FROM sessions WHERE session_id = $1`,
      [parseId("session", sessionId)],
    );
    return row!.queued_turns;
  };
  const named = (from: number, to: number) => queued(from, to).map(({ turnId }) => turnId);
  await bed.report(sessionId, ...queued(0, 20));
  assert.deepEqual(await queue(), named(0, 20));
  await bed.report(sessionId, ...queued(20, 90), dropped("t0"));
  assert.deepEqual(await queue(), named(1, 90));
  await bed.report(sessionId, ...queued(90, 450));
  assert.deepEqual(await queue(), named(350, 450));
  await bed.report(sessionId, ...named(352, 450).map(dropped), ...queued(450, 451));
  assert.deepEqual(await queue(), ["t351", "t450"]);
});

test("usage and cost are those last reported; a caller's title stays", async () => {
  const ours = await bed.addSession({ title: "Mine", title_given: "true" });
  const theirs = await bed.addSession();
  await bed.report(ours, info("Agent's"), usage(1, 0.5), usage(9, 0.75));
  await bed.report(theirs, info("🙂".repeat(300)), info(""));
  const rows = await bed.sql<{ title: string; cost_usd: number; usage: { inputTokens: number } }>(
    `SELECT title, cost_usd, usage FROM sessions WHERE session_id = ANY ($1) ORDER BY session_id`,
    [[ours, theirs].map((id) => parseId("session", id))],
  );
  assert.deepEqual(
    [rows[0]!.title, rows[0]!.cost_usd, rows[0]!.usage.inputTokens],
    ["Mine", 0.75, 9],
  );
  assert.equal([...rows[1]!.title].length, 200);
});

test("a host cannot make a record large, whatever texts it reports", async () => {
  const sessionId = await bed.addSession();
  const long = "x/".repeat(10_000);
  await bed.report(
    sessionId,
    {
      sessionUpdate: "session_placed",
      directory: long,
      worktreeBranch: long,
      model: { providerId: long, modelId: long },
      capabilities: Array<string>(3_000).fill("diff"),
    },
    { sessionUpdate: "prompt_queued", turnId: long, messageId: "m", text: "" },
    status("error", long),
  );
  const read = async () =>
    (
      await bed.sql<{ directory: string; bytes: number; queued: number; capabilities: string[] }>(
        `SELECT directory, octet_length(s::text) AS bytes, cardinality(queued_turns) AS queued, capabilities
           FROM sessions s WHERE session_id = $1`,
        [parseId("session", sessionId)],
      )
    )[0]!;
  const record = await read();
  assert.ok(record.bytes < 16_000, `${record.bytes} bytes`);
  assert.ok(record.directory.startsWith("x/x/") && record.directory.endsWith("…"));
  assert.deepEqual([record.queued, record.capabilities], [1, ["diff"]]);
  await bed.report(sessionId, {
    sessionUpdate: "prompt_dropped",
    turnId: long,
    messageId: "m",
    reason: "",
  });
  assert.equal((await read()).queued, 0);
});

test("a repeated report causes nothing again", async () => {
  const sessionId = await bed.addSession();
  const requestId = newRequestId();
  const entries = [turn("t1"), raised(requestId)];
  await bed.reportFrom(bed.instanceId, sessionId, 1, entries);
  await bed.reportFrom(bed.instanceId, sessionId, 3, [settled(requestId, "answered", "once")]);
  await bed.reportFrom(bed.instanceId, sessionId, 1, entries);
  assert.equal((await requestOf(requestId))[0], "answered");
  assert.equal((await workOf(sessionId))[1], "running");
});

test("another host changes neither the session nor its requests", async () => {
  const sessionId = await bed.addSession();
  const requestId = newRequestId();
  await bed.report(sessionId, turn("t1"), raised(requestId));
  const [other] = await bed.sql<{ instance_id: string }>(
    `INSERT INTO instances (organization_id, name) VALUES ($1, 'other') RETURNING instance_id`,
    [bed.organizationId],
  );
  const from = formatId("instance", other!.instance_id);
  await bed.reportFrom(from, sessionId, 3, [
    finished("t1"),
    settled(requestId, "answered", "once"),
  ]);
  // Not even through its own session that names the request.
  const [own] = await bed.sql<{ session_id: string }>(
    `INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by)
     VALUES ($1, $2, 'codex', '{}') RETURNING session_id`,
    [bed.organizationId, other!.instance_id],
  );
  const ownId = formatId("session", own!.session_id);
  const tries = [raised(requestId), settled(requestId, "answered", "always")];
  assert.deepEqual(await bed.reportFrom(from, ownId, 1, tries), {
    applied: [{ sessionId: ownId, appliedSeq: 2 }],
  });
  assert.deepEqual(await workOf(sessionId), ["active", "waiting", "t1", null]);
  assert.deepEqual(await requestOf(requestId), ["pending", null, null]);
});

test("entries that cannot be understood are stored, cause nothing and fail nothing", async () => {
  const sessionId = await bed.addSession();
  const unfit: TestUpdate[] = [
    { sessionUpdate: "session_status", status: "exploded", reason: null },
    { sessionUpdate: "turn_started" },
    { ...raised("no id"), requestId: "no id" },
    { ...raised(newRequestId()), permission: null },
    settled(newRequestId(), "answered", "once"),
    { sessionUpdate: "usage_update", usage: { inputTokens: -1 } },
    { sessionUpdate: "from_the_future", more: true },
  ];
  assert.deepEqual(await bed.report(sessionId, ...unfit), {
    applied: [{ sessionId, appliedSeq: unfit.length }],
  });
  assert.deepEqual(await workOf(sessionId), ["active", "idle", null, null]);
});

test("after the commit the session's followers and the organization's viewers are notified", async () => {
  const sessionId = await bed.addSession();
  const requestId = newRequestId();
  bed.notices.published.length = 0;
  await bed.report(sessionId, { sessionUpdate: "plan", entries: [] });
  await bed.report(sessionId, turn("t1"), raised(requestId));
  const told = bed.notices.published.map(({ subject, data }) => {
    const { from: _from, number: _number, ...notice } = JSON.parse(data) as Record<string, unknown>;
    return [subject.split(".")[0], notice];
  });
  assert.deepEqual(told, [
    ["session", { seq: 1 }],
    ["session", { seq: 3, record: true }],
    ["org", { type: "changed", record: "session", id: sessionId }],
    ["org", { type: "changed", record: "request", id: requestId }],
  ]);
});

async function workOf(sessionId: string) {
  const [row] = await bed.sql<Record<string, string | null>>(
    `SELECT status, activity, turn_id, turn_outcome FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return Object.values(row!);
}

async function statusOf(sessionId: string) {
  const [row] = await bed.sql<Record<string, string | null>>(
    `SELECT status, status_reason FROM sessions WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  return Object.values(row!);
}

async function requestOf(requestId: string) {
  const [row] = await bed.sql<Record<string, unknown>>(
    `SELECT status, answer, answered_by FROM requests WHERE request_id = $1`,
    [parseId("request", requestId)],
  );
  return Object.values(row!);
}

test("a fallback is shown with its reasons, whatever texts a host reports", async () => {
  const sessionId = await bed.addSession();
  const long = `${"a".repeat(198)}😀😀`;
  const skipped = {
    kind: "codex",
    reason: "quota",
    message: "Ninety percent.",
    utilization: 90,
  };
  await bed.report(sessionId, {
    sessionUpdate: "fallback_taken",
    kind: "opencode",
    preferredKind: "codex",
    skipped: [skipped, { ...skipped, message: "😀".repeat(2_000) }],
    droppedOptions: [long, `${long}b`],
  });
  const [row] = await bed.sql<{
    agent_kind: string;
    fallback: { skipped: { message: string }[]; droppedOptions: string[] };
  }>(`SELECT agent_kind, fallback FROM sessions WHERE session_id = $1`, [
    parseId("session", sessionId),
  ]);
  assert.equal(row!.agent_kind, "opencode");
  assert.deepEqual(
    row!.fallback.skipped.map(({ message }) => [...message].length),
    [15, 1_000],
  );
  assert.deepEqual(row!.fallback.droppedOptions, [long, `${"a".repeat(198)}😀…`]);
});
