// What becomes of a run whose host did not answer for a while, and then says that the call came too late.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, parseId } from "@hawser/contract";
import {
  commandIds,
  openFiringBed,
  prompted,
  started,
  type FiringBed,
  type TestSweep,
} from "@hawser/testkit/firing-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { tooLate } from "../fabric/host-asker.ts";

let beds: FiringBed;
let node: TestSweep;

before(async () => {
  beds = await openFiringBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);
const silent = () => {
  throw new OutcomeUnknown("silent");
};
const late = () => {
  throw tooLate("The command reached the host too late, so nothing was done. Call again.");
};

const age = (minutes: number) =>
  sql(
    `UPDATE schedule_runs SET created_at = created_at - make_interval(mins => $1),
            first_asked_at = first_asked_at - make_interval(mins => $1)`,
    [minutes],
  );

const sessionIds = async () =>
  (
    await sql<{ session_id: string }>(`SELECT session_id FROM sessions WHERE deleted_at IS NULL`)
  ).map(({ session_id }) => session_id);

test("a start that reached its host too late is made again, and starts one session", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = silent;
  await node.fire();
  beds.bed.host.start_session = late;
  await node.tryAgain();
  const waiting = await beds.lastRun(scheduleId);
  assert.deepEqual(
    [waiting.step, waiting.outcome, waiting.passed_over, waiting.session_id],
    ["start", "running", [], null],
  );
  assert.match(waiting.failure!, /in time, so it has done nothing\. It is tried again\.$/);
  assert.deepEqual(await sessionIds(), []);
  beds.bed.host.start_session = () => started;
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.failure], ["watch", null]);
  assert.deepEqual(await sessionIds(), [run.session_id]);
  assert.equal(commandIds(beds, "start_session"), 2);
});

test("a prompt that reached its host too late is sent again to the same session", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.send_prompt = silent;
  await node.fire();
  const { session_id } = await beds.lastRun(scheduleId);
  beds.bed.host.send_prompt = late;
  await node.tryAgain();
  assert.deepEqual((await beds.lastRun(scheduleId)).step, "prompt");
  beds.bed.host.send_prompt = () => prompted;
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual([run.step, run.session_id, run.failure], ["watch", session_id, null]);
  assert.equal(commandIds(beds, "send_prompt"), 2);
  assert.deepEqual(await sessionIds(), [session_id]);
});

test("after a new call that has no answer, only the same call is repeated", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = late;
  await node.fire();
  beds.bed.host.start_session = silent;
  await node.tryAgain();
  beds.bed.host.start_session = () => started;
  await node.tryAgain();
  assert.equal((await beds.lastRun(scheduleId)).step, "watch");
  assert.deepEqual([beds.asked("start_session").length, commandIds(beds, "start_session")], [3, 2]);
});

test("a pause of the schedule stops a run whose call came too late: nothing was done", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = late;
  await node.fire();
  await sql(`UPDATE schedules SET enabled = false, next_run_at = NULL`);
  await node.tryAgain();
  assert.equal((await beds.lastRun(scheduleId)).outcome, "skipped");
});

test("if every call of ten minutes comes too late, the next host takes the run", async () => {
  const own = parseId("instance", beds.bed.instanceId)!;
  const scheduleId = await beds.addSchedule({ instance_ids: [own, await beds.addHost()] });
  beds.bed.host.start_session = late;
  await node.fire();
  await age(11);
  let calls = 0;
  beds.bed.host.start_session = () => (++calls === 1 ? late() : started);
  await node.tryAgain();
  const run = await beds.lastRun(scheduleId);
  assert.deepEqual(
    [run.step, run.passed_over.map(({ reason }) => reason)],
    ["watch", ["For ten minutes, no call reached the host in time, so it has done nothing."]],
  );
});

for (const command of ["start_session", "send_prompt"] as const) {
  test(`if every ${command} of ten minutes comes too late, the run fails as if its host were away`, async () => {
    const scheduleId = await beds.addSchedule();
    beds.bed.host[command] = late;
    await node.fire();
    await age(11);
    await node.tryAgain();
    const run = await beds.lastRun(scheduleId);
    assert.deepEqual(
      [run.outcome, run.failure],
      ["failed", "For ten minutes, no call reached the host in time, so it has done nothing."],
    );
  });
}

test("a host that refuses for another reason is passed over at once", async () => {
  const scheduleId = await beds.addSchedule();
  beds.bed.host.start_session = () => {
    throw new Refusal("host_refused", "The disk is full.");
  };
  await node.fire();
  assert.equal((await beds.lastRun(scheduleId)).failure, "The disk is full.");
});
