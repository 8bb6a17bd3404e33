// A host that was paired again may be another machine. It gets no run of a schedule that was saved before.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { neverReturns, prompted, started, type TestSweep } from "@hawser/testkit/firing-bed.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { openTriggerBed, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
import { standardDelivery } from "@hawser/testkit/webhook-sender.ts";

let beds: TriggerBed;
let node: TestSweep;

before(async () => {
  beds = await openTriggerBed();
  node = beds.addSweep();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(async () => {
  await beds.clear();
  await pairAs("UFIRST");
});

const sql = <Row>(text: string, values?: unknown[]) => beds.bed.sql<Row>(text, values);
const instance = () => parseId("instance", beds.bed.instanceId);
const pairAs = (key: string) =>
  sql(`UPDATE instances SET host_key = $2 WHERE instance_id = $1`, [instance(), key]);

async function create(changes: object = {}): Promise<{ scheduleId: string; id: string }> {
  const { scheduleId } = (await beds.node.result("create_scheduled_prompt", {
    prompt: "go",
    instanceIds: [beds.bed.instanceId],
    frequency: "hourly",
    startAt: "2100-01-01T00:00:00Z",
    directory: "/srv",
    ...changes,
  })) as { scheduleId: string };
  return { scheduleId, id: parseId("schedule", scheduleId)! };
}

async function fire(id: string) {
  await beds.makeDue(id);
  await node.fire();
  return (await beds.runsOf(id)).at(-1)!;
}

test("a host that is paired as before runs the schedule", async () => {
  const { id } = await create();
  assert.equal((await fire(id)).step, "watch");
});

test("a host that was paired again gets nothing, until the schedule is saved again", async () => {
  const { id, scheduleId } = await create();
  await pairAs("USECOND");
  const run = await fire(id);
  assert.deepEqual([run.outcome, run.session_id, beds.bed.asked], ["failed", null, []]);
  assert.match(
    run.failure!,
    /paired again after the schedule was last saved.* call set_scheduled_prompt_enabled/,
  );
  await beds.node.result("set_scheduled_prompt_enabled", { scheduleId, enabled: true });
  assert.equal((await fire(id)).step, "watch");
  await pairAs("UTHIRD");
  await sql(`UPDATE schedule_runs SET step = 'ended', outcome = 'succeeded'`);
  assert.equal((await fire(id)).outcome, "failed");
  await beds.node.result("update_scheduled_prompt", { scheduleId, name: "checked" });
  assert.equal((await fire(id)).step, "watch");
});

test("a host that was first paired after the schedule was saved gets nothing", async () => {
  await sql(`UPDATE instances SET host_key = NULL WHERE instance_id = $1`, [instance()]);
  const { id } = await create();
  await pairAs("UFIRST");
  assert.equal((await fire(id)).outcome, "failed");
});

test("the next host is used instead, if it is the same as before", async () => {
  const second = await beds.addHost({ host_key: "UOTHER" });
  const { id } = await create({
    instanceIds: [beds.bed.instanceId, formatId("instance", second)],
    agentKind: "codex",
  });
  await pairAs("USECOND");
  const run = await fire(id);
  assert.equal(run.step, "watch");
  assert.match(run.passed_over[0]!.reason, /paired again/);
});

test("a host that is paired again between the start and the prompt gets no prompt", async () => {
  const { id } = await create();
  beds.bed.host.start_session = async () => {
    await pairAs("USECOND");
    return started;
  };
  const run = await fire(id);
  assert.deepEqual([run.outcome, beds.asked("send_prompt")], ["failed", []]);
  assert.match(run.failure!, /paired again before the session received the prompt/);
});

test("a host that is paired again while the prompt is sent gets no prompt", async () => {
  const { id } = await create();
  const pairing = beds.addSweep(async (action, dispatch) => {
    if (action === "send_prompt") await pairAs("USECOND");
    return dispatch();
  });
  await beds.makeDue(id);
  await pairing.fire();
  const [run] = await beds.runsOf(id);
  assert.deepEqual([run!.outcome, beds.asked("send_prompt")], ["failed", []]);
  assert.match(run!.failure!, /paired again before the session received the prompt/);
});

for (const [command, reason] of [
  ["start_session", /paired again after the schedule was last saved/],
  ["send_prompt", /paired again.* not known whether the former one received the prompt/],
] as const) {
  test(`a host that is paired again before ${command} is repeated is not asked again`, async () => {
    const { id } = await create();
    beds.bed.host[command] = refusing("unavailable", "The service cannot reach its fabric.");
    assert.equal((await fire(id)).outcome, "running");
    const asked = beds.asked(command).length;
    await pairAs("USECOND");
    beds.bed.host.start_session = () => started;
    beds.bed.host.send_prompt = () => prompted;
    await beds.endLeases();
    await node.fire();
    const [run] = await beds.runsOf(id);
    assert.deepEqual([run!.outcome, beds.asked(command).length], ["failed", asked]);
    assert.match(run!.failure!, reason);
  });
}

test("a prompt whose acceptance is recorded counts, also if its host was paired again since", async () => {
  const { id } = await create();
  const accepted = Promise.withResolvers<void>();
  const dying = beds.addSweep(async (action, dispatch) => {
    const answer = await dispatch();
    if (action !== "send_prompt") return answer;
    accepted.resolve();
    return neverReturns();
  });
  await beds.makeDue(id);
  await dying.claim();
  await dying.pickUp();
  await accepted.promise;
  await pairAs("USECOND");
  await beds.endLeases();
  await node.fire();
  assert.equal((await beds.runsOf(id))[0]!.step, "watch");
});

test("a trigger is not run on a host that was paired again", async () => {
  const { trigger, secret, id } = await beds.create({ source: "json" });
  await pairAs("USECOND");
  await beds.send(trigger.triggerId, standardDelivery(secret, {}));
  await node.fire();
  const [run] = await beds.runsOf(id);
  assert.deepEqual([run!.outcome, beds.bed.asked], ["failed", []]);
  assert.match(
    run!.failure!,
    /after the trigger was last saved.* call update_trigger with enabled true/,
  );
  await beds.update({ triggerId: trigger.triggerId, enabled: true });
  await beds.send(trigger.triggerId, standardDelivery(secret, {}));
  await node.fire();
  assert.equal((await beds.runsOf(id)).at(-1)!.step, "watch");
});

test("a schedule from before keys were recorded runs", async () => {
  const { id } = await create();
  await sql(`UPDATE schedules SET host_keys = NULL WHERE schedule_id = $1`, [id]);
  await pairAs("USECOND");
  assert.equal((await fire(id)).step, "watch");
});
