// Each due time of a schedule is run once, on whichever nodes sweep, die or stop in the middle.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import {
  assertFiredOnce,
  commandIds,
  neverReturns,
  openFiringBed,
  started,
  type FiringBed,
} from "@hawser/testkit/firing-bed.ts";
import * as claims from "./claim-store.ts";
import { slotOf } from "./due-slot.ts";

let beds: FiringBed;

before(async () => {
  beds = await openFiringBed();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const sessions = () =>
  beds.bed.sql<{ session_id: string; started_by: unknown }>(
    `SELECT session_id, started_by FROM sessions WHERE deleted_at IS NULL`,
  );

test("nodes that pick up at once take different runs", async () => {
  for (let i = 0; i < 12; i++) await beds.addSchedule();
  beds.bed.host.start_session = neverReturns;
  const nodes = [beds.addSweep(), beds.addSweep(), beds.addSweep()];
  await nodes[0]!.claim();
  const taken = await Promise.all(nodes.map((node) => node.pickUp()));
  assert.equal(
    taken.reduce((sum, each) => sum + each, 0),
    12,
  );
});

test("a claim takes as many prompts as fit into it, and the next one the rest", async () => {
  const prompt = "x".repeat(1024 * 1024);
  for (let i = 0; i < 12; i++) await beds.addSchedule({ prompt });
  const node = beds.addSweep();
  assert.deepEqual([await node.claim(), await node.claim(), await node.claim()], [8, 4, 0]);
});

test("three nodes that sweep at once run each due time once", async () => {
  const schedules = await Promise.all(Array.from({ length: 20 }, () => beds.addSchedule()));
  const nodes = [beds.addSweep(), beds.addSweep(), beds.addSweep()];
  for (let round = 0; round < 5; round++) await Promise.all(nodes.map((node) => node.fire()));
  assert.deepEqual([commandIds(beds, "start_session"), commandIds(beds, "send_prompt")], [20, 20]);
  assert.equal(beds.asked("start_session").length, 20, "no host was asked twice");
  for (const scheduleId of schedules) {
    const runs = await beds.runsOf(scheduleId);
    assert.deepEqual(
      runs.map(({ step }) => step),
      ["watch"],
    );
    const { next_run_at, session_count } = await beds.scheduleOf(scheduleId);
    assert.equal(session_count, 1);
    assert.equal(next_run_at!.getTime(), runs[0]!.run_at.getTime() + 3_600_000);
  }
});

test("a run's session names the schedule that started it, and gets its prompt", async () => {
  const scheduleId = await beds.addSchedule({ name: "Tidy up", prompt: "Tidy up,\nplease 🧹" });
  await beds.addSweep().fire();
  const [run] = await beds.runsOf(scheduleId);
  const sessionId = beds.asked("start_session")[0]!.payload["sessionId"];
  assert.equal(beds.asked("send_prompt")[0]!.payload["text"], "Tidy up,\nplease 🧹");
  assert.equal(beds.asked("send_prompt")[0]!.payload["sessionId"], sessionId);
  const record = await beds.node.result("get_session_summary", { sessionId });
  const { type, name, id } = record["startedBy"] as { type: string; name: string; id: string };
  assert.deepEqual([type, name, parseId("schedule", id)], ["schedule", "Tidy up", scheduleId]);
  assert.equal(record["title"], "Tidy up");
  assert.equal(run!.session_id, parseId("session", sessionId as string));
});

test("a run continues although the clock of the database was set back", async () => {
  const scheduleId = await beds.addSchedule();
  const node = beds.addSweep();
  await node.claim();
  await beds.bed.sql(
    `UPDATE schedule_runs SET lease_until = hawser_now() + interval '1 day', try_at = hawser_now() + interval '1 day'`,
  );
  await node.fire();
  await assertFiredOnce(beds, scheduleId);
});

test("a schedule whose times cannot be computed does not keep others from running", async () => {
  const { database } = beds.bed.service;
  const initech = await createTestOrganization(database, "Initech", "bill@initech.example");
  const organization_id = parseId("organization", initech.organizationId);
  await beds.bed.sql(`UPDATE organizations SET time_zone = 'Nowhere' WHERE organization_id = $1`, [
    organization_id,
  ]);
  const broken = await beds.addSchedule({ organization_id, frequency: "daily" });
  const scheduleId = await beds.addSchedule();
  await beds.addSweep().fire();
  await assertFiredOnce(beds, scheduleId);
  assert.deepEqual(await beds.runsOf(broken), []);
});

test("a schedule with the frequency never runs once", async () => {
  const scheduleId = await beds.addSchedule({ frequency: "never" });
  const node = beds.addSweep();
  for (let round = 0; round < 3; round++) await node.fire();
  await assertFiredOnce(beds, scheduleId);
  const { enabled, next_run_at } = await beds.scheduleOf(scheduleId);
  assert.deepEqual([enabled, next_run_at], [true, null]);
});

test("a time that comes while an earlier run works is skipped, and says which run", async () => {
  const scheduleId = await beds.addSchedule();
  const node = beds.addSweep();
  await node.fire();
  const [first] = await beds.runsOf(scheduleId);
  await beds.makeDue(scheduleId);
  await node.fire();
  const [, second] = await beds.runsOf(scheduleId);
  const due = first!.run_at.toISOString().replace(/\.\d+Z$/, "Z");
  assert.deepEqual(
    [second!.step, second!.outcome, second!.session_id, second!.failure],
    ["ended", "skipped", null, `The run that was due at ${due} has not ended.`],
  );
  await beds.bed.sql(`UPDATE schedule_runs SET step = 'ended', outcome = 'succeeded'`);
  await beds.makeDue(scheduleId);
  await node.fire();
  assert.equal((await beds.runsOf(scheduleId)).at(-1)!.outcome, "running");
  assert.equal((await beds.scheduleOf(scheduleId)).session_count, 2);
});

test("times that nobody ran are recorded once as missed, and the latest is run late", async () => {
  const scheduleId = await beds.addSchedule();
  await beds.bed.sql(
    `UPDATE schedules SET start_at = start_at - interval '10 hours', next_run_at = next_run_at - interval '3 hours'`,
  );
  const before = (await beds.scheduleOf(scheduleId)).next_run_at!.getTime();
  await beds.addSweep().fire();
  const runs = await beds.runsOf(scheduleId);
  assert.deepEqual(
    runs.map(({ outcome, run_at }) => [outcome, run_at.getTime() - before]),
    [
      ["missed", 0],
      ["running", 3 * 3_600_000],
    ],
  );
  assert.match(runs[0]!.failure!, /^The service did not run it in time: 3 times were missed since/);
  assert.ok(runs[0]!.run_id < runs[1]!.run_id, "the late run is the newest");
  const { next_run_at, failures_in_row } = await beds.scheduleOf(scheduleId);
  assert.deepEqual([next_run_at!.getTime() - before, failures_in_row], [4 * 3_600_000, 0]);
});

test("a time that was read is claimed once, and only if the schedule still has it", async () => {
  const { database } = beds.bed.service;
  const changes = {
    "nothing changed": "SELECT 1",
    paused: "UPDATE schedules SET enabled = false, next_run_at = NULL",
    "moved to another time": "UPDATE schedules SET next_run_at = next_run_at + interval '1 day'",
    deleted: "DELETE FROM schedules",
  };
  for (const [what, change] of Object.entries(changes)) {
    await beds.clear();
    const scheduleId = await beds.addSchedule();
    const slots = JSON.stringify((await database.system.rows(claims.lockDue, 10)).map(slotOf));
    await beds.bed.sql(change);
    const claim = () => database.system.rows(claims.claimSlots, slots);
    const claimed = [await claim(), await claim()].map((rows) => rows.length);
    assert.deepEqual(claimed, what === "nothing changed" ? [1, 0] : [0, 0], what);
    assert.equal((await beds.runsOf(scheduleId)).length, claimed[0], what);
  }
});

test("a schedule that is paused or deleted after its time was claimed starts nothing", async () => {
  const paused = await beds.addSchedule();
  const deleted = await beds.addSchedule();
  const node = beds.addSweep();
  await node.claim();
  await beds.bed.sql(
    `UPDATE schedules SET enabled = false, next_run_at = NULL WHERE schedule_id = $1`,
    [paused],
  );
  await beds.bed.sql(`DELETE FROM schedules WHERE schedule_id = $1`, [deleted]);
  await node.fire();
  assert.deepEqual([beds.bed.asked, await sessions()], [[], []]);
  const [run] = await beds.runsOf(paused);
  assert.deepEqual(
    [run!.step, run!.outcome, run!.failure],
    ["ended", "skipped", "It was paused before the run started."],
  );
  assert.deepEqual(await beds.runsOf(deleted), []);
});

test("a run that a caller asked for starts although the schedule is paused", async () => {
  const scheduleId = await beds.addSchedule();
  const node = beds.addSweep();
  await node.claim();
  await beds.bed.sql(
    `UPDATE schedule_runs SET plan = jsonb_set(plan, '{isRequested}', 'true');
     UPDATE schedules SET enabled = false, next_run_at = NULL`,
  );
  await node.fire();
  await assertFiredOnce(beds, scheduleId);
});

test("a schedule that is deleted while its host is asked keeps its session, and gets no prompt", async () => {
  await beds.addSchedule();
  beds.bed.host.start_session = async () => {
    await beds.bed.sql(`DELETE FROM schedules`);
    return started;
  };
  await beds.addSweep().fire();
  assert.equal((await sessions()).length, 1);
  assert.equal(beds.asked("send_prompt").length, 0);
});

test("an organization with many runs does not delay the run of another", async () => {
  const { service } = beds.bed;
  for (let batch = 0; batch < 6; batch++)
    await Promise.all(Array.from({ length: 10 }, () => beds.addSchedule()));
  const globex = await createTestOrganization(service.database, "Globex", "grace@globex.example");
  const organization_id = parseId("organization", globex.organizationId)!;
  const api_key_id = await beds.keyNamed("member", organization_id);
  const theirs = await beds.addSchedule({ organization_id, api_key_id });
  const busy = beds.addSweep(neverReturns);
  await busy.claim();
  await beds.bed.sql(`UPDATE schedule_runs SET try_at = hawser_now() WHERE schedule_id = $1`, [
    theirs,
  ]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(await busy.pickUp(), 51, "50 of one organization, 1 of the other");
  assert.equal((await beds.runsOf(theirs))[0]!.fence, 1);
  assert.equal(await busy.pickUp(), 0, "the first organization has its share");
  busy[Symbol.dispose]();
});
