// How a run ends, by what its session shows.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId } from "@hawser/contract";
import {
  openFiringBed,
  sessionOf,
  type FiringBed,
  type TestSweep,
} from "@hawser/testkit/firing-bed.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import type { WatchedRow } from "./outcome-store.ts";
import { outcomeOf } from "./outcome.ts";

const running: WatchedRow = {
  organization_id: "o",
  schedule_id: "s",
  run_id: "r",
  outcome: "running",
  turn_id: "t1",
  watched_seconds: 5,
  status: "active",
  status_reason: null,
  status_message: null,
  activity: "running",
  reachable: true,
  session_turn_id: "t1",
  is_queued: false,
  turn_outcome: null,
  continuation: null,
  cost_usd: null,
  away_seconds: 1,
};
const deleted: Partial<WatchedRow> = { status: null, activity: null, session_turn_id: null };

const table: [string, Partial<WatchedRow>, string, RegExp?][] = [
  ["its turn runs", {}, "running"],
  ["its agent waits for an answer", { activity: "waiting" }, "needs_answer"],
  ["its turn completed", { activity: "idle", turn_outcome: "completed" }, "succeeded"],
  ["its turn failed", { activity: "idle", turn_outcome: "failed" }, "failed", /turn failed/],
  [
    "its turn is to continue in another session",
    {
      activity: "idle",
      turn_outcome: "failed",
      continuation: { isUnderWay: true, problem: null },
    },
    "running",
  ],
  [
    "no kind can continue its turn",
    {
      activity: "idle",
      turn_outcome: "failed",
      continuation: { isUnderWay: false, problem: "No kind is left." },
    },
    "failed",
    /turn failed.*No kind is left\./,
  ],
  ["its turn was stopped", { turn_outcome: "aborted" }, "failed", /stopped/],
  ["its turn was interrupted", { turn_outcome: "interrupted" }, "failed", /interrupted/],
  [
    "its prompt waits for a turn of somebody else",
    { session_turn_id: "t0", activity: "idle", turn_outcome: "completed", is_queued: true },
    "running",
  ],
  ["somebody continues its session", { session_turn_id: "t2" }, "running"],
  [
    "somebody has continued its session",
    { session_turn_id: "t2", activity: "idle", turn_outcome: "completed" },
    "succeeded",
  ],
  [
    "its session was ended after its turn",
    { status: "ended", turn_outcome: "completed" },
    "succeeded",
  ],
  ["its session was ended in its turn", { status: "ended", activity: "idle" }, "failed", /ended/],
  [
    "its session failed",
    { status: "error", status_message: "The agent died." },
    "failed",
    /^The agent died\.$/,
  ],
  [
    "its machine was replaced",
    { status: "error", status_reason: "host_replaced" },
    "failed",
    /Another machine/,
  ],
  ["its session was deleted", deleted, "failed", /deleted/],
  ["its host is away for a moment", { reachable: false, away_seconds: 60 }, "running"],
  ["its host stays away", { reachable: false, away_seconds: 86_401 }, "failed", /disconnected/],
  [
    "its host was never seen",
    { reachable: false, away_seconds: null, watched_seconds: 86_401 },
    "failed",
    /disconnected/,
  ],
  ["it never ends", { watched_seconds: 604_801 }, "failed", /7 days/],
];

for (const [what, shown, outcome, failure] of table) {
  test(`a run is ${outcome} if ${what}`, () => {
    const watched = outcomeOf({ ...running, ...shown });
    assert.equal(watched.outcome, outcome);
    if (watched.outcome === "failed") assert.match(watched.failure, failure!);
  });
}

let beds: FiringBed;
let node: TestSweep;

before(async () => {
  beds = await openFiringBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

async function watch(): Promise<void> {
  await beds.bed.sql(`UPDATE schedule_runs SET try_at = hawser_now()`);
  await node.watch();
}

const turn = {
  sessionUpdate: "turn_started",
  turnId: "t1",
  messageId: "m",
  model: null,
  agent: null,
};
const finished = {
  sessionUpdate: "turn_finished",
  turnId: "t1",
  outcome: "completed",
  reason: null,
};
const usage = {
  sessionUpdate: "usage_update",
  usage: { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 },
  costUsd: 0.25,
  costIsEstimate: false,
};

test("a run that waits for an answer goes on when it has one, and ends with its turn and its cost", async () => {
  const scheduleId = await beds.addSchedule();
  await node.fire();
  const sessionId = sessionOf(await beds.lastRun(scheduleId));
  const requestId = formatId("request", crypto.randomUUID());
  const raised = {
    sessionUpdate: "request_raised",
    requestId,
    type: "permission",
    permission: { title: "ls", detail: null, alwaysRules: [] },
    questions: null,
    shownHash: "shown",
    toolCallId: null,
  };
  const settled = {
    sessionUpdate: "request_settled",
    requestId,
    outcome: "answered",
    answer: "once",
    answers: null,
    reason: null,
  };
  await watch();
  assert.equal((await beds.lastRun(scheduleId)).outcome, "running");
  await beds.bed.report(sessionId, turn, raised);
  await watch();
  const waiting = await beds.lastRun(scheduleId);
  assert.deepEqual([waiting.step, waiting.outcome], ["watch", "needs_answer"]);
  await beds.makeDue(scheduleId);
  await node.fire();
  const skipped = await beds.lastRun(scheduleId);
  assert.equal(skipped.outcome, "skipped");
  assert.match(
    skipped.failure!,
    /waits for an answer\. list_pending_requests shows the request\.$/,
  );
  await beds.bed.report(sessionId, settled);
  await watch();
  const runs = await beds.runsOf(scheduleId);
  assert.deepEqual(
    runs.map(({ outcome }) => outcome),
    ["running", "skipped"],
  );
  await beds.bed.report(sessionId, usage, finished);
  await watch();
  const [run] = await beds.runsOf(scheduleId);
  assert.deepEqual(
    [run!.step, run!.outcome, run!.cost_usd, run!.failure],
    ["ended", "succeeded", 0.25, null],
  );
});

test("a failure is counted once, although three nodes watch", async () => {
  const scheduleId = await beds.addSchedule();
  await node.fire();
  await beds.bed.report(sessionOf(await beds.lastRun(scheduleId)), turn, {
    ...finished,
    outcome: "failed",
  });
  const nodes = [node, beds.addSweep(), beds.addSweep()];
  await beds.bed.sql(`UPDATE schedule_runs SET try_at = hawser_now()`);
  await Promise.all(nodes.map((each) => each.watch()));
  await watch();
  assert.equal((await beds.lastRun(scheduleId)).outcome, "failed");
  assert.equal((await beds.scheduleOf(scheduleId)).failures_in_row, 1);
});

test("the failure of a run that a caller asked for is not counted", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = refusing("host_refused");
  for (let i = 0; i < 6; i++) {
    await node.claim();
    await beds.bed.sql(`UPDATE schedule_runs SET plan = jsonb_set(plan, '{isRequested}', 'true')`);
    await node.fire();
    assert.equal((await beds.lastRun(scheduleId)).outcome, "failed");
    await beds.makeDue(scheduleId);
  }
  const { enabled, failures_in_row } = await beds.scheduleOf(scheduleId);
  assert.deepEqual([enabled, failures_in_row], [true, 0]);
});

test("a run whose session is deleted has failed", async () => {
  const scheduleId = await beds.addSchedule();
  await node.fire();
  await beds.bed.sql(`UPDATE sessions SET deleted_at = hawser_now()`);
  await watch();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual(
    [run.outcome, run.failure],
    ["failed", "Its session was deleted before its turn had finished."],
  );
});
