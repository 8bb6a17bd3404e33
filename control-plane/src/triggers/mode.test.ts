// The mode of a trigger's session: no prompt is sent in another one, at whatever moment the organization changes it.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { prompted, type TestSweep } from "@hawser/testkit/firing-bed.ts";
import { refusing } from "@hawser/testkit/session-bed.ts";
import { openTriggerBed, type MadeTrigger, type TriggerBed } from "@hawser/testkit/trigger-bed.ts";
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
  await setHighest("unattended");
});

const sql = <Row>(text: string) => beds.bed.sql<Row>(text);
const setHighest = (mode: string) => sql(`UPDATE organizations SET highest_mode = '${mode}'`);

async function delivered(): Promise<MadeTrigger> {
  const made = await beds.create({ source: "json" });
  await beds.send(made.trigger.triggerId, standardDelivery(made.secret, {}));
  return made;
}

for (const at of ["start_session", "send_prompt"] as const) {
  test(`if the organization lowers the mode just before ${at}, the host is not asked`, async () => {
    const { id } = await delivered();
    const lowering = beds.addSweep(async (action, dispatch) => {
      if (action === at) await setHighest("ask");
      return dispatch();
    });
    await lowering.fire();
    const [run] = await beds.runsOf(id);
    assert.deepEqual([run!.outcome, beds.asked(at)], ["failed", []]);
    assert.match(run!.failure!, /^The sessions of a trigger work in the mode unattended, and/);
  });
}

test("if the organization lowers the mode before the prompt is repeated, the host is not asked again", async () => {
  const { id } = await delivered();
  beds.bed.host.send_prompt = refusing("unavailable", "The service cannot reach its fabric.");
  await node.fire();
  const asked = beds.asked("send_prompt").length;
  await setHighest("ask");
  beds.bed.host.send_prompt = () => prompted;
  await beds.endLeases();
  await node.fire();
  const [run] = await beds.runsOf(id);
  assert.deepEqual([run!.outcome, beds.asked("send_prompt").length], ["failed", asked]);
  assert.match(run!.failure!, /in ask, because .* not known whether it received the prompt/);
});
