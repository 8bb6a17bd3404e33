// What a delivery starts: a session under the unattended policy, with the rights of the trigger's key, and not more
// runs than the limits allow.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, parseId } from "@hawser/contract";
import { started, type TestSweep } from "@hawser/testkit/firing-bed.ts";
import { createTestOrganization, makeKey } from "@hawser/testkit/organization.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { openTriggerBed, type MadeTrigger, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import {
  githubDelivery,
  githubPayloads,
  standardDelivery,
} from "@hawser/testkit/webhook-sender.ts";

let beds: TriggerBed;
let node: TestSweep;

before(async () => {
  beds = await openTriggerBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);

async function deliver({ trigger, secret }: MadeTrigger, count = 1): Promise<void> {
  for (let i = 0; i < count; i++) {
    const delivery =
      trigger.source === "json"
        ? standardDelivery(secret, { count: i })
        : githubDelivery(secret, "issue_comment", githubPayloads.comment("/hawser go"));
    const received = await beds.send(trigger.triggerId, delivery);
    assert.ok("runId" in received, JSON.stringify(received));
  }
}

const stepsOf = async ({ id }: MadeTrigger) => (await beds.runsOf(id)).map(({ step }) => step);
const count = (steps: string[], step: string) => steps.filter((each) => each === step).length;

/** Lets the turns of all sessions end, and the runs with them. */
async function finishRuns(): Promise<void> {
  await sql(
    `UPDATE sessions s SET turn_outcome = 'completed', turn_id = r.turn_id, activity = 'idle'
       FROM schedule_runs r WHERE r.session_id = s.session_id AND r.step = 'watch'`,
  );
  await sql(`UPDATE schedule_runs SET try_at = hawser_now() WHERE step = 'watch'`);
  await node.watch();
}

test("the session is unattended, names its trigger, and gets the prompt with the marked text", async () => {
  await sql(`UPDATE organizations SET default_mode = 'ask'`);
  const made = await beds.create({ name: "Comments", prompt: "Answer the comment." });
  await deliver(made);
  await node.fire();
  const [{ payload } = assert.fail()] = beds.asked("start_session");
  assert.deepEqual([payload["mode"], payload["title"]], ["unattended", "Comments"]);
  const text = beds.asked("send_prompt")[0]!.payload["text"] as string;
  assert.match(
    text,
    /^Answer the comment\.\n\nThe text between [^]*\ncomment: \/hawser go\n[^]*---$/,
  );
  const { sessionId } = payload as { sessionId: string };
  const record = await beds.node.result("get_session_summary", { sessionId });
  const { triggerId } = made.trigger;
  assert.deepEqual(record["startedBy"], { type: "trigger", id: triggerId, name: "Comments" });
  assert.equal(record["mode"], "unattended");
  const { runs } = (await beds.node.result("list_schedule_runs", { triggerId })) as {
    runs: { sessionId: string; outcome: string }[];
  };
  assert.deepEqual(
    runs.map((run) => [run.sessionId, run.outcome]),
    [[sessionId, "running"]],
  );
  await finishRuns();
  assert.equal((await beds.runsOf(made.id))[0]!.outcome, "succeeded");
  assert.equal((await beds.scheduleOf(made.id)).session_count, 1);
});

test("the prompt and the text are fixed at the delivery, and forgotten when they were sent", async () => {
  const made = await beds.create({ source: "json", prompt: "before" });
  await deliver(made);
  await beds.update({ triggerId: made.trigger.triggerId, prompt: "after" });
  await node.fire();
  assert.match(
    beds.asked("send_prompt")[0]!.payload["text"] as string,
    /^before\n[^]*\{"count":0\}/,
  );
  const [{ plan } = assert.fail()] = await sql<{ plan: object }>(`SELECT plan FROM schedule_runs`);
  assert.deepEqual(plan, { isRequested: false });
});

test("if the organization does not allow unattended work, nothing starts and the trigger is paused", async () => {
  const made = await beds.create();
  await deliver(made);
  await sql(`UPDATE organizations SET highest_mode = 'auto'`);
  await node.fire();
  await sql(`UPDATE organizations SET highest_mode = 'unattended'`);
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual([run!.outcome, beds.bed.asked], ["failed", []]);
  assert.match(
    run!.failure!,
    /work in the mode unattended, and the organization allows at most auto/,
  );
  const { enabled, pause_reason } = await beds.scheduleOf(made.id);
  assert.equal(enabled, false);
  assert.match(pause_reason!, /highestMode.* Then call update_trigger with enabled true\.$/);
});

test("a session that its host started in another mode does not get the prompt", async () => {
  const made = await beds.create();
  await deliver(made);
  beds.bed.host.start_session = () => ({ ...started, mode: "ask" });
  await node.fire();
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual([run!.outcome, beds.asked("send_prompt")], ["failed", []]);
  assert.match(run!.failure!, /this one is in ask, because .* It did not receive the prompt/);
});

test("a session whose organization lowers the mode before the prompt does not get it", async () => {
  const made = await beds.create();
  await deliver(made);
  beds.bed.host.start_session = async () => {
    await sql(`UPDATE organizations SET highest_mode = 'ask'`);
    return started;
  };
  await node.fire();
  await sql(`UPDATE organizations SET highest_mode = 'unattended'`);
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual([run!.outcome, beds.asked("send_prompt")], ["failed", []]);
});

test("a trigger has at most five runs at once, and the others wait and say so", async () => {
  const made = await beds.create();
  await deliver(made, 7);
  for (let round = 0; round < 3; round++) await node.fire();
  const steps = await stepsOf(made);
  assert.deepEqual([count(steps, "watch"), count(steps, "wait")], [5, 2]);
  const waiting = (await beds.runsOf(made.id)).filter(({ step }) => step === "wait");
  for (const { outcome, failure } of waiting)
    assert.deepEqual([outcome, failure], ["running", "It waits for its turn."]);
  await finishRuns();
  await node.fire();
  const later = await stepsOf(made);
  assert.deepEqual([count(later, "ended"), count(later, "watch")], [5, 2]);
  assert.equal(beds.asked("start_session").length, 7);
});

test("nodes that release at once do not exceed the five", async () => {
  const made = await beds.create();
  await deliver(made, 12);
  const nodes = [node, beds.addSweep(), beds.addSweep()];
  for (let round = 0; round < 4; round++) await Promise.all(nodes.map((each) => each.fire()));
  assert.equal(count(await stepsOf(made), "wait"), 7);
  assert.equal(beds.asked("start_session").length, 5);
});

test("an organization starts at most sixty runs of triggers a minute, and others are not delayed", async () => {
  const [own] = await sql<{ organization_id: string }>(
    `SELECT organization_id FROM instances LIMIT 1`,
  );
  const triggers = await Promise.all(
    Array.from({ length: 14 }, () => beds.create({ source: "json" })),
  );
  for (const made of triggers) await deliver(made, 5);
  await node.pickUp();
  await node.settled();
  const begun = () =>
    sql<{ n: number }>(
      `SELECT count(*)::int AS n FROM schedule_runs WHERE step <> 'wait' AND organization_id = $1`,
      [own!.organization_id],
    ).then(([row]) => row!.n);
  assert.equal(await begun(), 60);
  for (let round = 0; round < 3; round++) await node.fire();
  assert.equal(await begun(), 60);
  // Another organization's delivery arrives after all of them.
  const globex = await createTestOrganization(
    beds.bed.service.database,
    "Globex",
    "g@globex.example",
  );
  const { instance } = (await beds.node.result(
    "create_instance",
    { name: "theirs" },
    { key: globex.keys.owner },
  )) as { instance: { instanceId: string } };
  await sql(`UPDATE instances SET status = 'online', status_reason = NULL WHERE instance_id = $1`, [
    parseId("instance", instance.instanceId),
  ]);
  const theirs = await beds.create(
    { source: "json", instanceIds: [instance.instanceId], agentKind: "codex" },
    { key: globex.keys.owner },
  );
  await deliver(theirs);
  await node.fire();
  assert.deepEqual(await stepsOf(theirs), ["watch"]);
  await sql(`UPDATE schedule_runs SET created_at = created_at - interval '61 seconds'`);
  await node.fire();
  assert.equal(await begun(), 70);
});

test("a trigger has at most a hundred deliveries that wait, and then refuses further ones", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made, 100);
  const refused = await deliver(made).catch((error: unknown) => error);
  assert.ok(refused instanceof Refusal);
  assert.deepEqual([refused.code, refused.details.retryAfterMs], ["rate_limited", 60_000]);
  assert.match(refused.message, /Send this one again later/);
  await node.fire();
  await deliver(made, 5);
});

test("five failed runs pause the trigger, also if they end together", async () => {
  const made = await beds.create();
  await deliver(made, 5);
  await node.fire();
  await sql(`UPDATE sessions SET deleted_at = hawser_now()`);
  await sql(`UPDATE schedule_runs SET try_at = hawser_now()`);
  await node.watch();
  const { enabled, failures_in_row, pause_reason } = await beds.scheduleOf(made.id);
  assert.deepEqual([enabled, failures_in_row], [false, 5]);
  assert.match(
    pause_reason!,
    /^The last 5 runs failed\. .* call update_trigger with enabled true\.$/,
  );
  const { trigger } = await beds.update({ triggerId: made.trigger.triggerId, enabled: true });
  assert.deepEqual([trigger.enabled, trigger.pauseReason], [true, null]);
});

test("a run that succeeds together with failed ones starts the count again", async () => {
  const made = await beds.create();
  await deliver(made, 5);
  await node.fire();
  await sql(`UPDATE sessions SET deleted_at = hawser_now()`);
  const [run] = await beds.runsOf(made.id);
  await sql(`UPDATE sessions SET deleted_at = NULL WHERE session_id = $1`, [run!.session_id]);
  await finishRuns();
  const outcomes = (await beds.runsOf(made.id)).map(({ outcome }) => outcome).sort();
  assert.deepEqual(outcomes, ["failed", "failed", "failed", "failed", "succeeded"]);
  const { enabled, failures_in_row } = await beds.scheduleOf(made.id);
  assert.deepEqual([enabled, failures_in_row], [true, 0]);
});

test("a trigger whose key was revoked starts nothing and is paused, until somebody resumes it", async () => {
  const { organization, service } = beds.bed;
  const { database } = service;
  const key = await makeKey(database, organization.organizationId, ["sessions:edit"], {
    name: "t",
  });
  const made = await beds.create({}, { key });
  await deliver(made);
  await sql(`UPDATE api_keys SET revoked_at = hawser_now() WHERE name = 't'`);
  await node.fire();
  const { enabled, pause_reason } = await beds.scheduleOf(made.id);
  assert.deepEqual([enabled, beds.bed.asked], [false, []]);
  assert.match(pause_reason!, /revoked.* Call update_trigger with enabled true with your key/);
  await beds.update({ triggerId: made.trigger.triggerId, enabled: true });
  await deliver(made);
  await node.fire();
  assert.equal((await beds.runsOf(made.id)).at(-1)!.step, "watch");
});

test("a rotated key takes over the deliveries that wait", async () => {
  const { organization, service } = beds.bed;
  const { database } = service;
  const key = await makeKey(
    database,
    organization.organizationId,
    ["sessions:edit", "access:edit"],
    { name: "old" },
  );
  const made = await beds.create({}, { key });
  await deliver(made);
  const apiKeyId = ((await beds.node.result("whoami", {}, { key })) as { apiKeyId: string })
    .apiKeyId;
  await beds.node.result("rotate_api_key", { apiKeyId, overlapMinutes: 0 }, { key });
  await node.fire();
  assert.deepEqual(await stepsOf(made), ["watch"]);
});

test("a delivery that waits when its trigger is paused is skipped", async () => {
  const made = await beds.create();
  await deliver(made);
  await beds.update({ triggerId: made.trigger.triggerId, enabled: false });
  await node.fire();
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual(
    [run!.outcome, run!.failure],
    ["skipped", "It was paused before the run started."],
  );
});

test("a host that refuses is passed over, and the run says why", async () => {
  const made = await beds.create();
  await deliver(made);
  beds.bed.host.start_session = refusing("host_refused", "The folder is outside the roots.");
  await node.fire();
  const [run] = await beds.runsOf(made.id);
  assert.deepEqual([run!.outcome, run!.failure], ["failed", "The folder is outside the roots."]);
});
