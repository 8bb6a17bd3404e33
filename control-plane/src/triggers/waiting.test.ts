// Deliveries that wait for their turn: a pause and a long wait end them, and they keep no text after that.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import type { TestSweep } from "@hawser/testkit/firing-bed.ts";
import { openTriggerBed, type MadeTrigger, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import { standardDelivery } from "@hawser/testkit/webhook-sender.ts";

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
  for (let i = 0; i < count; i++)
    await beds.send(trigger.triggerId, standardDelivery(secret, { count: i }));
}

const setEnabled = ({ trigger }: MadeTrigger, enabled: boolean) =>
  beds.update({ triggerId: trigger.triggerId, enabled });

const outcomesOf = async ({ id }: MadeTrigger) =>
  (await beds.runsOf(id)).map(({ outcome }) => outcome);

/** Fails if a run that has ended contains more than `isRequested`. */
async function assertForgotten(): Promise<void> {
  const rows = await sql<{ plan: object }>(`SELECT plan FROM schedule_runs WHERE step = 'ended'`);
  for (const { plan } of rows) assert.deepEqual(plan, { isRequested: false });
}

test("a pause skips the deliveries that wait at once, and a resumed trigger does not start them", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made, 2);
  await setEnabled(made, false);
  await setEnabled(made, true);
  assert.deepEqual(await outcomesOf(made), ["skipped", "skipped"]);
  assert.equal((await beds.runsOf(made.id))[0]!.failure, "It was paused before the run started.");
  await assertForgotten();
  await node.fire();
  assert.deepEqual(beds.bed.asked, []);
});

test("deliveries that wait when the service pauses the trigger are skipped", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made, 7);
  await sql(`UPDATE organizations SET highest_mode = 'auto'`);
  await node.fire();
  await sql(`UPDATE organizations SET highest_mode = 'unattended'`);
  const { enabled, failures_in_row } = await beds.scheduleOf(made.id);
  assert.equal(enabled, false);
  await node.pickUp();
  const waited = (await beds.runsOf(made.id)).slice(5).map(({ outcome }) => outcome);
  assert.deepEqual(waited, ["skipped", "skipped"]);
  await node.settled();
  assert.equal((await beds.scheduleOf(made.id)).failures_in_row, failures_in_row);
});

test("a run that was released before the pause keeps no text either", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made);
  const pausing = beds.addSweep();
  await sql(`UPDATE schedule_runs SET step = 'start'`);
  await setEnabled(made, false);
  await pausing.fire();
  assert.deepEqual(await outcomesOf(made), ["skipped"]);
  await assertForgotten();
});

test("a delivery that has waited for twelve hours is skipped, and does not count as failed", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made, 2);
  const age = (time: string) =>
    sql(
      `UPDATE schedule_runs SET run_at = run_at - $1::interval
        WHERE run_id = (SELECT min(run_id::text)::uuid FROM schedule_runs)`,
      [time],
    );
  await age("12 hours 1 second");
  await node.fire();
  const [old, young] = await beds.runsOf(made.id);
  assert.deepEqual(
    [old!.outcome, old!.failure],
    ["skipped", "It has waited for its turn for 12 hours."],
  );
  assert.equal(young!.step, "watch");
  assert.equal((await beds.scheduleOf(made.id)).failures_in_row, 0);
  await assertForgotten();
});

test("a delivery that has waited for almost twelve hours runs", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made);
  await sql(`UPDATE schedule_runs SET run_at = run_at - interval '11 hours 59 minutes'`);
  await node.fire();
  assert.equal((await beds.runsOf(made.id))[0]!.step, "watch");
});

test("deliveries to paused triggers do not use up the sixty starts a minute", async () => {
  for (let i = 0; i < 12; i++) {
    const paused = await beds.create({ source: "json" });
    await deliver(paused, 6);
    await setEnabled(paused, false);
  }
  const made = await beds.create({ source: "json" });
  await deliver(made);
  await node.fire();
  assert.equal((await beds.runsOf(made.id))[0]!.step, "watch");
});
