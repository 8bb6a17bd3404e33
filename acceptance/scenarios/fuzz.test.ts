import assert from "node:assert/strict";
import { test } from "node:test";
import { actionNames } from "@hawser/contract";
import { fingerprint } from "@hawser/testkit/fingerprint.ts";
import { startWorld } from "@hawser/testkit/world.ts";
import { makeCase } from "../fuzz/cases.ts";
import { startFakeService, type Fault } from "../fuzz/fake-service.ts";
import { environment, fuzz } from "../fuzz/fuzz.ts";
import { runAction, type Failure } from "../fuzz/run.ts";
import { readPin } from "../fuzz/shape.ts";

const renaming = readPin().find(({ name }) => name === "update_instance")!;

async function fuzzFake(fault?: Fault): Promise<Failure[]> {
  await using service = await startFakeService(renaming, fault);
  const indexes = Array.from({ length: 300 }, (_, index) => index);
  return (await runAction(service, renaming, { seed: "fake", indexes })).failures;
}

test("the same seed makes the same cases, and another seed makes others", () => {
  const known = { instanceId: "ins_00000000000000000000000000" };
  const bodies = (seed: string) =>
    Array.from({ length: 50 }, (_, index) => makeCase(renaming, seed, index, known).body);
  assert.deepEqual(bodies("1"), bodies("1"));
  assert.notDeepEqual(bodies("1"), bodies("2"));
});

test("the fuzzer finds nothing wrong with a service that answers as it must", async () => {
  assert.deepEqual(await fuzzFake(), []);
});

const faults: [Fault, RegExp][] = [
  ["fails", /^status 500/],
  ["accepts everything", /^200 where it must be refused with 400/],
  ["refuses everything", /^400 where it must be accepted/],
  ["shows a stack", /^a stack in the body/],
  ["has other errors", /^an error body of unknown shape/],
  ["answers in plain text", /^an answer of text\/plain/],
  ["hangs up", /^no answer/],
  ["logs a fault", /^it logged a fault/],
];

for (const [fault, complaint] of faults) {
  test(`the fuzzer notices a service that ${fault}`, async () => {
    const failures = await fuzzFake(fault);
    assert.notEqual(failures.length, 0);
    for (const { got } of failures) assert.match(got, complaint);
  });
}

test("the fuzzer notices a row changed by a refused call, and which call it was", async () => {
  const [failure, ...others] = await fuzzFake("writes before it refuses");
  assert.deepEqual(others, []);
  assert.equal(failure?.got, "rows changed in rows");
  assert.match(failure.body!, /null/);
});

test("a fingerprint of the database shows which tables were written, even with the same values", async () => {
  await using world = await startWorld();
  const { instance } = await world.caller.create_instance({ name: "one" });
  const writtenBy = async (call: () => Promise<unknown>) => {
    const before = await fingerprint(world.database.url);
    await call();
    const after = await fingerprint(world.database.url);
    return [...after.keys()].filter((table) => before.get(table) !== after.get(table));
  };
  const { instanceId } = instance;
  assert.deepEqual(await writtenBy(() => world.caller.list_instances({})), []);
  assert.deepEqual(await writtenBy(() => world.caller.try("update_instance", { instanceId })), []);
  assert.deepEqual(
    await writtenBy(() => world.caller.update_instance({ instanceId, name: "one" })),
    ["audit_entries", "instances"],
  );
});

// A slice: `npm run fuzz` sends 2,000 to each action, with a seed of its own each time.
test("200 generated requests to each action are accepted or refused as the interface says", async () => {
  await using world = await startWorld({ environment });
  const runs = await fuzz(world, { seed: "1", cases: 200 });
  assert.deepEqual(runs.map(({ action }) => action).sort(), actionNames.toSorted());
  const failures = runs.flatMap((run) => run.failures);
  assert.deepEqual(failures.slice(0, 10), [], `${failures.length} failures`);
});
