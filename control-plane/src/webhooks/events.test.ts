// Which facts become events, with what content, and in which order (N32).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { agentKeyPermissions, formatId, parseId } from "@hawser/contract";
import { makeKey } from "@hawser/testkit/organization.ts";
import type { TestUpdate } from "@hawser/testkit/session-bed.ts";
import { openWebhookBed, type WebhookBed } from "@hawser/testkit/webhook-bed.ts";

let beds: WebhookBed;
let sender: ReturnType<WebhookBed["addSender"]>;

before(async () => {
  beds = await openWebhookBed();
  sender = beds.addSender();
  await beds.addWebhook();
});
after(() => beds[Symbol.asyncDispose]());

/** A text that no message may contain. */
const canary = "canary-4711";
const newRequestId = () => formatId("request", crypto.randomUUID());
const raised = (requestId: string): TestUpdate => ({
  sessionUpdate: "request_raised",
  requestId,
  type: "permission",
  permission: { title: canary, detail: canary, alwaysRules: [canary] },
  questions: null,
  shownHash: canary,
  toolCallId: canary,
  rule: canary,
});
const settled = (requestId: string, outcome: string): TestUpdate => ({
  sessionUpdate: "request_settled",
  requestId,
  outcome,
  answer: outcome === "answered" ? "once" : null,
  answers: null,
  reason: null,
});
const finished = (turnId: string, outcome = "completed"): TestUpdate => ({
  sessionUpdate: "turn_finished",
  turnId,
  outcome,
  reason: canary,
});
const status = (word: string): TestUpdate => ({
  sessionUpdate: "session_status",
  status: word,
  code: canary,
  reason: canary,
});

/** The messages that `work` causes, as type and data. */
async function sent(work: () => Promise<unknown>): Promise<[string, Record<string, unknown>][]> {
  await sender.deliver();
  beds.receiver.messages.length = 0;
  await work();
  await sender.deliver();
  for (const { text } of beds.receiver.messages) assert.ok(!text.includes(canary), text);
  return beds.receiver.messages.map(({ type, data }) => [type, data]);
}

test("each finished turn is an event, even if several are reported at once", async () => {
  const sessionId = await beds.bed.addSession({ title: canary });
  const messages = await sent(() =>
    beds.bed.report(sessionId, finished("t1"), finished("t2", "failed")),
  );
  assert.deepEqual(messages, [
    ["turn_finished", { sessionId, turnId: "t1", outcome: "completed", seq: 1 }],
    ["turn_finished", { sessionId, turnId: "t2", outcome: "failed", seq: 2 }],
  ]);
});

test("N32: an outcome that is no word of ours is no event", async () => {
  const sessionId = await beds.bed.addSession();
  assert.deepEqual(await sent(() => beds.bed.report(sessionId, finished("t1", canary))), []);
});

test("N32: requests are events with ids and words, in the order of the log", async () => {
  const sessionId = await beds.bed.addSession();
  const requestId = newRequestId();
  const { instanceId } = beds.bed;
  const ids = { requestId, sessionId, instanceId, requestType: "permission" };
  const messages = await sent(() =>
    beds.bed.report(
      sessionId,
      raised(requestId),
      settled(requestId, "answered"),
      finished("t1"),
      status("error"),
    ),
  );
  assert.deepEqual(messages, [
    ["request_raised", { ...ids, status: "pending", seq: 1 }],
    ["request_settled", { ...ids, status: "answered", seq: 2 }],
    ["turn_finished", { sessionId, turnId: "t1", outcome: "completed", seq: 3 }],
    ["session_status", { sessionId, instanceId, status: "error", seq: 4 }],
  ]);
});

test("a request that the service settles is an event without a seq, after what the log had before", async () => {
  const sessionId = await beds.bed.addSession();
  const requestId = newRequestId();
  const messages = await sent(async () => {
    await beds.bed.report(sessionId, raised(requestId));
    await beds.bed.sql(`UPDATE requests SET status = 'withdrawn' WHERE request_id = $1`, [
      parseId("request", requestId),
    ]);
    await beds.bed.report(sessionId, settled(requestId, "withdrawn"), finished("t1"));
  });
  assert.deepEqual(
    messages.map(([type, { status: word, seq }]) => [type, word, seq]),
    [
      ["request_raised", "pending", 1],
      ["request_settled", "withdrawn", null],
      ["turn_finished", undefined, 3],
    ],
  );
});

test("a session's status is an event when it changes, and not when it is deleted", async () => {
  const sessionId = await beds.bed.addSession();
  const messages = await sent(async () => {
    await beds.bed.report(sessionId, status("active"));
    await beds.bed.report(sessionId, status("detached"));
    await beds.bed.sql(
      `UPDATE sessions SET deleted_at = hawser_now(), status = 'ended' WHERE session_id = $1`,
      [parseId("session", sessionId)],
    );
  });
  assert.deepEqual(messages, [
    ["session_status", { sessionId, instanceId: beds.bed.instanceId, status: "detached", seq: 2 }],
  ]);
});

test("a host's status is an event with its reason, and its other facts are not", async () => {
  const { instanceId } = beds.bed;
  const set = (columns: string) =>
    beds.bed.sql(`UPDATE instances SET ${columns} WHERE instance_id = $1`, [
      parseId("instance", instanceId),
    ]);
  const messages = await sent(async () => {
    await set(`status = 'online', name = '${canary}'`);
    await set(`status = 'offline', status_reason = 'link_lost'`);
    await set(`status = 'online', status_reason = NULL`);
  });
  assert.deepEqual(messages, [
    ["host_status", { instanceId, status: "offline", reason: "link_lost" }],
    ["host_status", { instanceId, status: "online", reason: null }],
  ]);
});

test("the end of a schedule's run is an event, also of one that was skipped", async () => {
  const made = await beds.call("create_scheduled_prompt", {
    prompt: canary,
    name: canary,
    instanceIds: [beds.bed.instanceId],
    frequency: "daily",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv",
  });
  const id = parseId("schedule", made.scheduleId);
  const messages = await sent(async () => {
    await beds.bed.sql(
      `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step, outcome, failure)
       SELECT organization_id, schedule_id, hawser_now(), '{}', api_key_id, 'ended', 'skipped', $2
         FROM schedules WHERE schedule_id = $1`,
      [id, canary],
    );
    await beds.bed.sql(
      `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id)
       SELECT organization_id, schedule_id, hawser_now(), '{}', api_key_id FROM schedules WHERE schedule_id = $1`,
      [id],
    );
    await beds.bed.sql(
      `UPDATE schedule_runs SET step = 'ended', outcome = 'failed', failure = $2
        WHERE schedule_id = $1 AND step = 'start'`,
      [id, canary],
    );
    // A run of a trigger has the delivery that started it.
    await beds.bed.sql(
      `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step, outcome, delivery_id)
       SELECT organization_id, schedule_id, hawser_now(), '{}', api_key_id, 'ended', 'failed', 'd1'
         FROM schedules WHERE schedule_id = $1`,
      [id],
    );
  });
  const shown = messages.map(([type, { scheduleId, triggerId, outcome, sessionId }]) => [
    type,
    scheduleId ?? triggerId,
    outcome,
    sessionId,
  ]);
  assert.deepEqual(shown, [
    ["schedule_run_ended", made.scheduleId, "skipped", null],
    ["schedule_run_ended", made.scheduleId, "failed", null],
    ["schedule_run_ended", formatId("trigger", id!), "failed", null],
  ]);
});

test("what a call of an agent's key causes is an event too", async () => {
  const own = await beds.bed.addSession();
  const key = await makeKey(
    beds.bed.service.database,
    beds.bed.organization.organizationId,
    agentKeyPermissions,
    { sessionId: own },
  );
  const { apiKeyId } = await beds.call("whoami", {}, key);
  const messages = await sent(() =>
    beds.bed.service.database.tenantTransaction(
      { organizationId: beds.bed.organizationId, sessionId: parseId("session", own) },
      async (sql) => {
        await sql.rows(
          { name: "end", text: `UPDATE sessions SET status = 'error' WHERE session_id = $1` },
          parseId("session", own),
        );
      },
    ),
  );
  assert.ok(apiKeyId);
  assert.deepEqual(
    messages.map(([type, { sessionId }]) => [type, sessionId]),
    [["session_status", own]],
  );
});

test("only the webhooks that want an event get it, of this organization, while they are switched on", async () => {
  const hosts = await beds.addWebhook({ events: ["host_status"] });
  const off = await beds.addWebhook();
  await beds.call("update_webhook", { webhookId: off.webhookId, enabled: false });
  const sessionId = await beds.bed.addSession();
  await beds.bed.report(sessionId, finished("t1"));
  assert.deepEqual(await beds.deliveriesOf(hosts.id), []);
  assert.deepEqual(await beds.deliveriesOf(off.id), []);
  for (const { webhookId } of [hosts, off]) await beds.call("delete_webhook", { webhookId });
});

test("an event is recorded with the fact, or not at all", async () => {
  const { id, webhookId } = await beds.addWebhook();
  const sessionId = await beds.bed.addSession();
  const fails = beds.bed.service.database.tenantTransaction(
    beds.bed.organizationId,
    async (sql) => {
      await sql.rows(
        { name: "fail", text: `UPDATE sessions SET status = 'error' WHERE session_id = $1` },
        parseId("session", sessionId),
      );
      throw new Error("rolled back");
    },
  );
  await assert.rejects(fails, /rolled back/);
  assert.deepEqual(await beds.deliveriesOf(id), []);
  await beds.call("delete_webhook", { webhookId });
});
