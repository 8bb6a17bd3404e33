// Triggers as records: what is stored, shown and changed, and by whom.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal, formatId } from "@hawser/contract";
import { addMember } from "@hawser/testkit/add-member.ts";
import { openTriggerBed, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";

let beds: TriggerBed;

before(async () => {
  beds = await openTriggerBed();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const list = async () =>
  ((await beds.node.result("list_triggers", {})) as { triggers: unknown[] }).triggers;

async function codeOf(action: string, body: object): Promise<string> {
  const answer = await beds.node.call(action, body);
  assert.ok("refusal" in answer, `${action} was not refused`);
  return answer.refusal.code;
}

test("a trigger is shown with what was set, and its secret only once", async () => {
  const { trigger, secret } = await beds.create({
    name: "Reviews",
    events: ["review", "check_failed", "review"],
    commandWord: "@bot",
    fallbackChain: [{ kind: "codex" }],
  });
  assert.match(trigger.triggerId, /^trg_/);
  assert.equal(trigger.address, `https://hawser.example/api/triggers/${trigger.triggerId}`);
  assert.deepEqual(
    [trigger.name, trigger.events, trigger.commandWord, trigger.enabled],
    ["Reviews", ["review", "check_failed"], "@bot", true],
  );
  assert.match(secret, /^whsec_[\w+/]{43}=$/);
  assert.deepEqual(await list(), [trigger]);
  assert.ok(!JSON.stringify(await list()).includes(secret));
});

test("a trigger of GitHub reacts to comments with /hawser by default, and one of json to everything", async () => {
  const { events, commandWord } = (await beds.create()).trigger;
  assert.deepEqual([events, commandWord], [["comment"], "/hawser"]);
  const json = (await beds.create({ source: "json" })).trigger;
  assert.deepEqual([json.events, json.commandWord], [[], null]);
});

test("the events of a json trigger cannot be chosen", async () => {
  for (const wrong of [{ events: ["comment"] }, { commandWord: "/x" }]) {
    const created = await beds.create({ source: "json", ...(wrong as object) }).catch((e) => e);
    assert.ok(created instanceof Refusal && created.code === "invalid_input");
    const { trigger } = await beds.create({ source: "json" });
    assert.equal(
      await codeOf("update_trigger", { triggerId: trigger.triggerId, ...wrong }),
      "invalid_input",
    );
  }
});

test("a change keeps what was not sent", async () => {
  const { trigger } = await beds.create({ name: "before" });
  const { triggerId } = trigger;
  const same = await beds.update({ triggerId });
  assert.deepEqual(same, { trigger, secret: null });
  const changes = { name: null, prompt: "Other.", events: ["review" as const], commandWord: "/x" };
  const changed = await beds.update({ triggerId, ...changes });
  assert.deepEqual(changed.trigger, { ...trigger, ...changes });
  const rotated = await beds.update({ triggerId, rotateSecret: true });
  assert.match(rotated.secret!, /^whsec_/);
  assert.deepEqual(rotated.trigger, changed.trigger);
});

test("a trigger acts as the caller who created, changed or resumed it last; a pause changes nothing", async () => {
  const grace = await addMember(beds.bed, beds.node, { email: "grace@acme.example" });
  const { trigger } = await beds.create();
  const { triggerId } = trigger;
  const as = { key: grace.key };
  const paused = await beds.update({ triggerId, enabled: false }, as);
  assert.deepEqual(paused.trigger, { ...trigger, enabled: false });
  for (const change of [{ enabled: true }, { prompt: "Mine." }, { rotateSecret: true }]) {
    await beds.update({ triggerId, name: "back" });
    const { trigger: changed } = await beds.update({ triggerId, ...change }, as);
    assert.deepEqual([changed.actsAs.id, changed.createdBy], [grace.userId, trigger.createdBy]);
  }
});

test("a trigger is no schedule: the actions on schedules do not know it", async () => {
  const { trigger, id } = await beds.create();
  const { schedules } = (await beds.node.result("list_scheduled_prompts", {})) as {
    schedules: unknown[];
  };
  assert.deepEqual(schedules, []);
  const rows: [string, object][] = [
    ["update_scheduled_prompt", { name: "x" }],
    ["set_scheduled_prompt_enabled", { enabled: false }],
    ["delete_scheduled_prompt", {}],
    ["preview_scheduled_prompt", {}],
    ["run_scheduled_prompt_now", {}],
    ["list_schedule_runs", {}],
  ];
  for (const scheduleId of [formatId("schedule", id), trigger.triggerId]) {
    for (const [action, body] of rows)
      assert.equal(await codeOf(action, { scheduleId, ...body }), "not_found", action);
  }
  assert.deepEqual(await list(), [trigger]);
});

test("a schedule is no trigger: the actions on triggers do not know it", async () => {
  const id = await beds.addSchedule();
  for (const triggerId of [formatId("trigger", id), formatId("schedule", id)]) {
    for (const action of ["update_trigger", "delete_trigger", "list_schedule_runs"])
      assert.equal(await codeOf(action, { triggerId }), "not_found", action);
  }
  assert.equal((await beds.scheduleOf(id)).enabled, true);
});

test("a deleted trigger is gone with its runs", async () => {
  const { trigger, id } = await beds.create();
  const { triggerId } = trigger;
  await beds.bed.sql(
    `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step)
     SELECT organization_id, schedule_id, hawser_now(), '{}', api_key_id, 'wait' FROM schedules
      WHERE schedule_id = $1`,
    [id],
  );
  assert.deepEqual(await beds.node.result("delete_trigger", { triggerId }), {
    triggerId,
    deleted: true,
  });
  assert.deepEqual(await beds.runsOf(id), []);
  assert.equal(await codeOf("delete_trigger", { triggerId }), "not_found");
});

test("the prompt of a trigger has at most 64 KiB", async () => {
  const prompt = "p".repeat(64 * 1024);
  const { triggerId } = (await beds.create({ prompt })).trigger;
  for (const refused of [
    await beds.create({ prompt: `${prompt}p` }).catch((error: unknown) => error),
    await beds.update({ triggerId, prompt: `${prompt}p` }).catch((error: unknown) => error),
  ]) {
    assert.ok(refused instanceof Refusal);
    assert.equal(refused.code, "limit_reached");
    assert.match(refused.message, /may have 64 KiB/);
  }
});
