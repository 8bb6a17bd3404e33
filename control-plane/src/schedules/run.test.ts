// What becomes of a run: which host takes it, and which refusals end it.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId, parseId, type RefusalCode } from "@hawser/contract";
import {
  openFiringBed,
  prompted,
  started,
  type FiringBed,
  type TestSweep,
} from "@hawser/testkit/firing-bed.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";

let beds: FiringBed;
let node: TestSweep;

before(async () => {
  beds = await openFiringBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);
const ownHost = () => parseId("instance", beds.bed.instanceId)!;

const age = (minutes: number) =>
  sql(
    `UPDATE schedule_runs SET created_at = created_at - make_interval(mins => $1), try_at = hawser_now(),
            first_asked_at = first_asked_at - make_interval(mins => $1)`,
    [minutes],
  );

const sessionCount = async () =>
  (await sql<{ n: number }>(`SELECT count(*)::int AS n FROM sessions WHERE deleted_at IS NULL`))[0]!
    .n;

test("the first host that accepts it takes the run, and the run says why others did not", async () => {
  const offline = await beds.addHost({ status: "offline", status_reason: "link_lost" });
  const deleted = await beds.addHost({ deleted_at: "2026-01-01T00:00:00Z" });
  const refuses = await beds.addHost();
  let calls = 0;
  beds.bed.host.start_session = () => {
    if (++calls === 1) throw new Refusal("agent_not_ready", "Codex is not logged in.");
    return started;
  };
  const scheduleId = await beds.addSchedule({
    instance_ids: [offline, deleted, refuses, ownHost(), await beds.addHost()],
  });
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  const [offlineId, deletedId, refusesId] = [offline, deleted, refuses].map((id) =>
    formatId("instance", id),
  );
  assert.deepEqual(run.passed_over, [
    {
      instanceId: offlineId,
      reason: "The host is not connected. Start its daemon, or wait until it is back.",
    },
    {
      instanceId: deletedId,
      reason: "This host was removed. Choose another with update_scheduled_prompt.",
    },
    { instanceId: refusesId, reason: "Codex is not logged in." },
  ]);
  assert.deepEqual([run.step, run.outcome], ["watch", "running"]);
  const [session] = await sql<{ instance_id: string }>(
    `SELECT instance_id FROM sessions WHERE session_id = $1`,
    [run.session_id],
  );
  assert.equal(session!.instance_id, ownHost());
  assert.equal(await sessionCount(), 1, "no other session is left");
});

test("a run waits for its hosts for five minutes, as after an outage", async () => {
  const offline = await beds.addHost({ status: "offline", status_reason: "link_lost" });
  const scheduleId = await beds.addSchedule({ instance_ids: [offline] });
  await node.fire();
  const waiting = await beds.lastRun(scheduleId);
  assert.deepEqual([waiting.step, waiting.outcome, waiting.passed_over], ["start", "running", []]);
  assert.equal(waiting.failure, "None of its hosts is connected. It is tried again.");
  await sql(`UPDATE instances SET status = 'online', status_reason = NULL WHERE instance_id = $1`, [
    offline,
  ]);
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.failure], ["watch", null]);
});

test("what a run had to do is forgotten when its prompt was sent, or when it has ended", async () => {
  const sent = await beds.addSchedule();
  await node.fire();
  beds.bed.host.start_session = refusing("host_refused");
  const refused = await beds.addSchedule();
  await node.fire();
  await beds.makeDue(sent);
  await node.fire();
  const runs = [...(await beds.runsOf(sent)), ...(await beds.runsOf(refused))];
  assert.deepEqual(
    runs.map(({ outcome }) => outcome),
    ["running", "skipped", "failed"],
  );
  const plans = await sql<{ plan: object }>(`SELECT plan FROM schedule_runs`);
  for (const { plan } of plans) assert.deepEqual(plan, { isRequested: false });
});

test("a run that waited long for a node still has its time for a host that does not answer", async () => {
  const scheduleId = await beds.addSchedule();
  await node.claim();
  await age(60);
  beds.bed.host.start_session = () => {
    throw new OutcomeUnknown("silent");
  };
  await node.fire();
  assert.equal((await beds.lastRun(scheduleId)).outcome, "running");
});

test("if no host can run it, the run has failed, and the next time is as usual", async () => {
  const offline = await beds.addHost({ status: "offline", status_reason: "link_lost" });
  const scheduleId = await beds.addSchedule({ instance_ids: [offline, offline] });
  const dueAt = (await beds.scheduleOf(scheduleId)).next_run_at!.getTime();
  await node.claim();
  await age(6);
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.outcome, run.session_id], ["ended", "failed", null]);
  assert.equal(
    run.failure,
    "None of its hosts could run it. The host is not connected. Start its daemon, or wait until it is back.",
  );
  assert.equal(run.passed_over.length, 2);
  const { enabled, next_run_at, failures_in_row, session_count } =
    await beds.scheduleOf(scheduleId);
  assert.deepEqual([enabled, failures_in_row, session_count], [true, 1, 0]);
  assert.equal(next_run_at!.getTime(), dueAt + 3_600_000);
});

test("a run that its only host has refused ends at the next try, if its schedule was locked before", async () => {
  const scheduleId = await beds.addSchedule();
  await node.claim();
  const refused = [{ instanceId: beds.bed.instanceId, reason: "The folder is outside the roots." }];
  await sql(`UPDATE schedule_runs SET passed_over = $1`, [JSON.stringify(refused)]);
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.failure], ["ended", refused[0]!.reason]);
});

const hostRefusals: RefusalCode[] = [
  "host_refused",
  "not_a_repository",
  "project_config_present",
  "daemon_outdated",
  "journal_full",
  "invalid_input",
];

for (const code of hostRefusals) {
  test(`a run that its only host refuses with ${code} fails with the host's sentence`, async () => {
    const scheduleId = await beds.addSchedule();
    beds.bed.host.start_session = refusing(code, "The directory is outside the allowed folders.");
    await node.fire();
    const run = await beds.lastRun(scheduleId);
    assert.deepEqual(
      [run.outcome, run.failure],
      ["failed", "The directory is outside the allowed folders."],
    );
    assert.equal(await sessionCount(), 0);
  });
}

test("a host that may have started the session is asked again, and never passed over", async () => {
  const second = await beds.addHost();
  const scheduleId = await beds.addSchedule({ instance_ids: [ownHost(), second] });
  beds.bed.host.start_session = () => {
    throw new OutcomeUnknown("silent");
  };
  await node.fire();
  const waiting = await beds.lastRun(scheduleId);
  assert.deepEqual([waiting.step, waiting.passed_over], ["start", []]);
  assert.ok(waiting.session_id, "the session that may exist is known");
  assert.match(waiting.failure!, /did not answer in time.* It is tried again\.$/);
  await node.fire();
  assert.equal(beds.asked("start_session").length, 1, "it is asked again after a pause");
  // Even a pause of the schedule does not leave it unknown.
  await sql(`UPDATE schedules SET enabled = false, next_run_at = NULL`);
  await node.tryAgain();
  beds.bed.host.start_session = () => started;
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.session_id, run.failure], ["watch", waiting.session_id, null]);
  const asked = beds.asked("start_session");
  assert.equal(asked.length, 3);
  assert.equal(new Set(asked.map(({ commandId }) => commandId)).size, 1);
  assert.equal(await sessionCount(), 1);
});

test("a host that refuses after a silence is passed over, and its session is not named", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = () => {
    throw new OutcomeUnknown("silent");
  };
  await node.fire();
  beds.bed.host.start_session = refusing("host_refused", "Too late.");
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.outcome, run.session_id, run.failure], ["failed", null, "Too late."]);
  assert.equal(await sessionCount(), 0);
});

test("a host that does not answer for ten minutes fails the run, without asking the next host", async () => {
  const scheduleId = await beds.addSchedule({ instance_ids: [ownHost(), await beds.addHost()] });
  beds.bed.host.start_session = () => {
    throw new OutcomeUnknown("silent");
  };
  await node.fire();
  await age(11);
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual(
    [run.step, run.outcome, run.failure],
    [
      "ended",
      "failed",
      "The host did not answer in time, so it is not known whether it started the session.",
    ],
  );
  const ids = new Set(beds.asked("start_session").map(({ commandId }) => commandId));
  assert.equal(ids.size, 1);
});

test("a run that was not started for twelve hours is given up without asking a host", async () => {
  const scheduleId = await beds.addSchedule();
  await node.claim();
  await age(721);
  await node.fire();
  assert.equal((await beds.lastRun(scheduleId)).failure, "It could not be started for 12 hours.");
  assert.deepEqual(beds.bed.asked, []);
});

test("a prompt with an unknown outcome is sent again under the same id", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.send_prompt = () => {
    throw new OutcomeUnknown("silent");
  };
  await node.fire();
  assert.deepEqual([(await beds.lastRun(scheduleId)).step], ["prompt"]);
  // The session need not accept prompts any more: the host may have the prompt already.
  await sql(`UPDATE sessions SET status = 'ended'`);
  beds.bed.host.send_prompt = () => prompted;
  await node.tryAgain();
  assert.equal((await beds.lastRun(scheduleId)).step, "watch");
  const asked = beds.asked("send_prompt");
  assert.deepEqual([asked.length, new Set(asked.map(({ commandId }) => commandId)).size], [2, 1]);
});

test("a prompt that the host refuses fails the run with its sentence", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.send_prompt = refusing("host_refused", "The disk is full.");
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.outcome, run.failure], ["failed", "The disk is full."]);
  assert.ok(run.session_id);
});

test("a session that still clones gets the prompt when it has started", async () => {
  const scheduleId = await beds.addSchedule({
    directory: null,
    clone_url: "https://git.example/a.git",
  });
  beds.bed.host.start_session_in_clone = () => {
    throw new OutcomeUnknown("it takes long");
  };
  await node.fire();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, beds.asked("send_prompt")], ["prompt", []]);
  await node.tryAgain();
  assert.deepEqual(
    [(await beds.lastRun(scheduleId)).step, beds.asked("send_prompt")],
    ["prompt", []],
  );
  await sql(`UPDATE sessions SET activity = 'idle' WHERE session_id = $1`, [run.session_id]);
  await sql(`UPDATE instances SET status = 'offline' WHERE instance_id = $1`, [ownHost()]);
  await node.tryAgain();
  assert.equal((await beds.lastRun(scheduleId)).step, "prompt", "it waits for its host");
  await sql(`UPDATE instances SET status = 'online' WHERE instance_id = $1`, [ownHost()]);
  await node.tryAgain();
  assert.deepEqual(
    [(await beds.lastRun(scheduleId)).step, beds.asked("send_prompt").length],
    ["watch", 1],
  );
});

test("a clone that fails, and one that never ends, fail the run", async () => {
  const clone = { directory: null, clone_url: "https://git.example/a.git" };
  beds.bed.host.start_session_in_clone = () => {
    throw new OutcomeUnknown("it takes long");
  };
  const first = await beds.addSchedule(clone);
  await node.fire();
  const { session_id } = await beds.lastRun(first);
  await sql(
    `UPDATE sessions SET activity = 'idle', status = 'ended', status_reason = 'clone_failed',
            status_message = 'The repository was not found.' WHERE session_id = $1`,
    [session_id],
  );
  const second = await beds.addSchedule(clone);
  await node.tryAgain();
  assert.equal((await beds.lastRun(first)).failure, "The repository was not found.");
  await age(46);
  await node.fire();
  assert.equal(
    (await beds.lastRun(second)).failure,
    "Its session did not start in time, so it did not receive the prompt.",
  );
  assert.deepEqual(beds.asked("send_prompt"), []);
});

test("a schedule's own fallback chain is used instead of the host's, also for the default kind", async () => {
  const chain = [{ kind: "claude_code", providerId: null, modelId: null }];
  await sql(
    `UPDATE instances SET fallback_chain = '[{"kind": "codex", "providerId": null, "modelId": null}]'`,
  );
  await beds.addSchedule({ fallback_chain: JSON.stringify(chain) });
  await node.fire();
  const { kind, fallback } = beds.asked("start_session")[0]!.payload as {
    kind: string;
    fallback: { chain: unknown };
  };
  assert.deepEqual([kind, fallback.chain], ["claude_code", chain]);
  await beds.addSchedule({ fallback_chain: null });
  await node.fire();
  assert.equal(beds.asked("start_session")[1]!.payload["kind"], "codex");
  await beds.addSchedule({ fallback_chain: "[]" });
  await node.fire();
  assert.equal(beds.asked("start_session")[2]!.payload["fallback"], undefined);
  await sql(`UPDATE instances SET fallback_chain = '[]'`);
});

test("after five failures in a row the schedule is paused, and a success starts the count again", async () => {
  const scheduleId = await beds.addSchedule();
  const fire = async () => {
    await beds.makeDue(scheduleId);
    await node.fire();
  };
  beds.bed.host.start_session = refusing("host_refused", "No.");
  for (let failures = 1; failures <= 4; failures++) {
    await fire();
    const { failures_in_row, enabled } = await beds.scheduleOf(scheduleId);
    assert.deepEqual([failures_in_row, enabled], [failures, true]);
  }
  beds.bed.host.start_session = () => started;
  await fire();
  await sql(`UPDATE sessions SET turn_outcome = 'completed', activity = 'idle'`);
  await sql(`UPDATE schedule_runs SET try_at = hawser_now() WHERE step = 'watch'`);
  await node.watch();
  assert.equal((await beds.scheduleOf(scheduleId)).failures_in_row, 0);
  beds.bed.host.start_session = refusing("host_refused", "No.");
  for (let failures = 1; failures <= 5; failures++) await fire();
  const paused = await beds.scheduleOf(scheduleId);
  assert.deepEqual([paused.enabled, paused.next_run_at, paused.failures_in_row], [false, null, 5]);
  assert.match(paused.pause_reason!, /^The last 5 runs failed\./);
});
