// Which failed runs count when a trigger is paused after five of them. Others decide when events arrive, and how many.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { started, type TestSweep } from "@hawser/testkit/firing-bed.ts";
import { makeKey } from "@hawser/testkit/organization.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { openTriggerBed, type MadeTrigger, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import { standardDelivery } from "@hawser/testkit/webhook-sender.ts";
import { tooLate } from "../fabric/host-asker.ts";

let beds: TriggerBed;
let node: TestSweep;

before(async () => {
  beds = await openTriggerBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(async () => {
  await beds.clear();
  await sql(`UPDATE instances SET status = 'online', status_reason = NULL`);
});

const sql = <Row>(text: string) => beds.bed.sql<Row>(text);
const disconnect = () =>
  sql(`UPDATE instances SET status = 'offline', status_reason = 'disconnected'`);

async function deliver({ trigger, secret }: MadeTrigger, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await beds.send(trigger.triggerId, standardDelivery(secret, { count: i }));
}

/** Lets this time pass. */
const pass = (minutes: number) =>
  sql(`UPDATE schedule_runs SET created_at = created_at - interval '${minutes} minutes'`);

/** Works on all runs until they have ended. Of several that end at once, some are left for the next time. */
async function fireAll(): Promise<void> {
  for (let round = 0; round < 10; round++) {
    await beds.endLeases();
    await node.fire();
    const [left] = await sql(`SELECT FROM schedule_runs WHERE step <> 'ended'`);
    if (!left) return;
  }
  assert.fail("the runs did not end");
}

async function assertNotPaused({ id }: MadeTrigger): Promise<void> {
  const outcomes = (await beds.runsOf(id)).map(({ outcome }) => outcome);
  assert.deepEqual(
    outcomes,
    Array.from({ length: 5 }, () => "failed"),
  );
  const { enabled, failures_in_row } = await beds.scheduleOf(id);
  assert.deepEqual([enabled, failures_in_row], [true, 0]);
}

test("five events while no host is connected do not pause the trigger", async () => {
  const made = await beds.create({ source: "json" });
  await disconnect();
  await deliver(made, 5);
  await node.fire();
  await pass(6);
  await fireAll();
  await assertNotPaused(made);
});

test("five sessions whose host disconnects before the prompt do not pause the trigger", async () => {
  const made = await beds.create({ source: "json" });
  await deliver(made, 5);
  const allStarted = Promise.withResolvers<void>();
  let starts = 0;
  beds.bed.host.start_session = async () => {
    if (++starts === 5) await disconnect().then(() => allStarted.resolve());
    await allStarted.promise;
    return started;
  };
  await node.fire();
  await pass(46);
  await fireAll();
  await assertNotPaused(made);
});

test("five events that reach their host too late, for ten minutes, do not pause the trigger", async () => {
  const made = await beds.create({ source: "json" });
  beds.bed.host.start_session = () => {
    throw tooLate("Too late.");
  };
  await deliver(made, 5);
  await node.fire();
  await sql(`UPDATE schedule_runs SET first_asked_at = first_asked_at - interval '11 minutes'`);
  await fireAll();
  await assertNotPaused(made);
});

test("five runs that a connected host refuses pause the trigger", async () => {
  const made = await beds.create({ source: "json" });
  beds.bed.host.start_session = refusing("host_refused", "The folder is outside the roots.");
  await deliver(made, 5);
  await fireAll();
  assert.equal((await beds.scheduleOf(made.id)).enabled, false);
});

test("five runs of a schedule that find no host connected pause it", async () => {
  const id = await beds.addSchedule({ failures_in_row: 4 });
  await disconnect();
  await node.fire();
  await pass(6);
  await fireAll();
  assert.equal((await beds.scheduleOf(id)).enabled, false);
});

test("runs with a revoked key do not pause the trigger that another person has resumed", async () => {
  const { organization, service } = beds.bed;
  const key = await makeKey(service.database, organization.organizationId, ["sessions:edit"], {
    name: "former",
  });
  const made = await beds.create({ source: "json" }, { key });
  await deliver(made, 5);
  await sql(`UPDATE api_keys SET revoked_at = hawser_now() WHERE name = 'former'`);
  await beds.update({ triggerId: made.trigger.triggerId, enabled: true });
  await fireAll();
  await assertNotPaused(made);
  assert.match((await beds.runsOf(made.id))[0]!.failure!, /was revoked/);
});
