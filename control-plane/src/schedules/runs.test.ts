import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Refusal, formatId, parseId, type InputOf, type registry } from "@hawser/contract";
import { openScheduleBed, type ScheduleBed } from "@hawser/testkit/schedule-bed.ts";
import { deleteOldRuns } from "./store.ts";

let stage: ScheduleBed;
before(async () => {
  stage = await openScheduleBed();
});
after(() => stage[Symbol.asyncDispose]());

const refusedWith = (code: string) => (error: unknown) =>
  error instanceof Refusal && error.code === code;

test("a run that a caller asks for is recorded once, and leaves the next time", async () => {
  await stage.setClock("2026-06-15T12:00:00.250Z");
  const { scheduleId, nextRunAt } = await stage.create();
  const run = await stage.call("run_scheduled_prompt_now", { scheduleId });
  assert.match(run.runId, /^run_/);
  assert.deepEqual(
    [
      run.runAt,
      run.outcome,
      run.sessionId,
      run.startedAt,
      run.endedAt,
      run.durationMs,
      run.costUsd,
    ],
    ["2026-06-15T12:00:00.250Z", "running", null, null, null, null, null],
  );
  await assert.rejects(
    stage.call("run_scheduled_prompt_now", { scheduleId }),
    refusedWith("schedule_running"),
  );
  const after = await stage.read(scheduleId);
  assert.equal(after.nextRunAt, nextRunAt);
  assert.deepEqual(after.lastRun, run);
  const [row] = await stage.bed.sql<{ plan: object }>(
    `SELECT plan FROM schedule_runs WHERE run_id = $1`,
    [parseId("run", run.runId)],
  );
  assert.deepEqual(row!.plan, {
    name: null,
    prompt: "go",
    directory: "/srv/code",
    cloneRepo: null,
    cloneUrl: null,
    instanceIds: [parseId("instance", stage.bed.instanceId)],
    agentKind: null,
    providerId: null,
    modelId: null,
    useWorktree: null,
    fallbackChain: null,
    hostKeys: [null],
    isRequested: true,
    isTriggered: false,
  });
  await stage.bed.sql(
    `UPDATE schedule_runs SET step = 'ended', outcome = 'failed' WHERE run_id = $1`,
    [parseId("run", run.runId)],
  );
  await stage.call("set_scheduled_prompt_enabled", { scheduleId, enabled: false });
  await stage.setClock("2026-06-15T12:00:01Z");
  const second = await stage.call("run_scheduled_prompt_now", { scheduleId });
  assert.equal(second.outcome, "running", "also while it is paused");
});

test("of ten calls at once, one starts a run", async () => {
  const { scheduleId } = await stage.create();
  const answers = await Promise.all(
    Array.from({ length: 10 }, () => stage.node.call("run_scheduled_prompt_now", { scheduleId })),
  );
  assert.equal(answers.filter((answer) => "result" in answer).length, 1);
});

test("runs are listed in pages, the newest first, with what came of them", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const { scheduleId } = await stage.create();
  const session = await stage.bed.addSession();
  const runs = [
    await stage.claim(scheduleId, "2026-06-01T00:00:00Z", {
      step: "ended",
      outcome: "succeeded",
      session_id: parseId("session", session)!,
      started_at: "2026-06-01T00:00:01.500Z",
      ended_at: "2026-06-01T00:01:00Z",
      cost_usd: "0.25",
    }),
    await stage.claim(scheduleId, "2026-06-02T00:00:00Z", {
      step: "ended",
      outcome: "skipped",
      failure: "An earlier run.",
    }),
    await stage.claim(scheduleId, "2026-06-03T00:00:00Z", {
      passed_over: JSON.stringify([{ instanceId: stage.bed.instanceId, reason: "It is offline." }]),
    }),
  ];
  const first = await stage.call("list_schedule_runs", { scheduleId, limit: 2 });
  const second = await stage.call("list_schedule_runs", {
    scheduleId,
    limit: 2,
    cursor: first.nextCursor!,
  });
  assert.equal(second.nextCursor, null);
  const listed = [...first.runs, ...second.runs];
  assert.deepEqual(
    listed.map(({ runId }) => runId),
    runs.toReversed(),
  );
  assert.deepEqual(listed[0]!.passedOver, [
    { instanceId: stage.bed.instanceId, reason: "It is offline." },
  ]);
  assert.equal(listed[1]!.failure, "An earlier run.");
  const { sessionId, durationMs, costUsd, outcome } = listed[2]!;
  assert.deepEqual([sessionId, durationMs, costUsd, outcome], [session, 58_500, 0.25, "succeeded"]);
  assert.equal((await stage.read(scheduleId)).lastRun?.runId, runs[2]);
});

test("the next times follow the stored one, and end with the schedule", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const preview = (body: InputOf<(typeof registry)["preview_scheduled_prompt"]>) =>
    stage.call("preview_scheduled_prompt", body);
  const monthly = { frequency: "monthly", startAt: "2026-01-31T09:00:00Z" } as const;
  const { timeZone, runs } = await preview(monthly);
  assert.deepEqual(
    [timeZone, runs.length, runs[0], runs[8]],
    ["UTC", 10, "2026-06-30T09:00:00.000Z", "2027-02-28T09:00:00.000Z"],
  );
  const { scheduleId } = await stage.create(monthly);
  assert.deepEqual((await preview({ scheduleId })).runs, runs);
  await stage.call("set_scheduled_prompt_enabled", { scheduleId, enabled: false });
  assert.deepEqual((await preview({ scheduleId })).runs, runs, "as if it were resumed");
  const once = await stage.create({ frequency: "never" });
  assert.deepEqual((await preview({ scheduleId: once.scheduleId })).runs, [
    "2100-01-01T00:00:00.000Z",
  ]);
  await stage.bed.sql(`UPDATE schedules SET next_run_at = NULL WHERE schedule_id = $1`, [
    parseId("schedule", once.scheduleId),
  ]);
  assert.deepEqual((await preview({ scheduleId: once.scheduleId })).runs, []);
});

test("old runs are removed, except the last of each schedule and the run of one that runs once", async () => {
  await stage.setClock("2026-06-15T12:00:00Z");
  const daily = await stage.create();
  const once = await stage.create({ frequency: "never" });
  const ended = { step: "ended", outcome: "failed", created_at: "2025-01-01T00:00:00Z" };
  const old = await stage.claim(daily.scheduleId, "2025-01-01T00:00:00Z", ended);
  const last = await stage.claim(daily.scheduleId, "2025-01-02T00:00:00Z", ended);
  const only = await stage.claim(once.scheduleId, "2025-01-01T00:00:00Z", ended);
  const requested = await stage.claim(once.scheduleId, "2025-01-02T00:00:00Z", ended);
  await stage.bed.sql(`UPDATE schedule_runs SET plan = '{"isRequested": true}' WHERE run_id = $1`, [
    parseId("run", requested),
  ]);
  const removed = await stage.bed.service.database.system.rows(deleteOldRuns);
  const ids = removed.map(({ run_id }) => formatId("run", run_id));
  assert.ok(ids.includes(old));
  for (const kept of [last, only, requested]) assert.ok(!ids.includes(kept));
});
