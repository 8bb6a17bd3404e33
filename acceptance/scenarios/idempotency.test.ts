// Calls that carry the same idempotency key take effect once and get the same answer.
import assert from "node:assert/strict";
import { refusalText, type Caller } from "@hawser/testkit/caller.ts";
import { assertRefused, resultOf } from "../refusal.ts";
import { scenario, useWorld } from "../scenario.ts";

useWorld({ nodes: 2 });

const once = (key: string) => ({ "idempotency-key": key });

async function countNamed(caller: Caller, name: string): Promise<number> {
  return (await caller.search_instances({ query: name })).instances.length;
}

scenario(
  "A repeated call has one effect and the first answer, secrets included, on any node",
  [],
  async ({ world, caller }) => {
    const body = { name: "made once" };
    const first = await caller.try("create_instance", body, once("k1"));
    const other = world.callerFor(caller.key, 1);
    for (const again of [caller, other]) {
      const reply = await again.try("create_instance", body, once("k1"));
      assert.deepEqual(resultOf(reply), resultOf(first));
    }
    assert.equal(await countNamed(caller, "made once"), 1);
  },
);

scenario("Twenty calls at once over two nodes have one effect", [], async ({ world, caller }) => {
  const callers = [caller, world.callerFor(caller.key, 1)];
  const replies = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      callers[i % 2]!.try("create_instance", { name: "raced" }, once("race")),
    ),
  );
  assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]));
  assert.equal(new Set(replies.map(({ text }) => text)).size, 1);
  assert.equal(await countNamed(caller, "raced"), 1);
});

scenario("The same key with another body is refused and does nothing", [], async ({ caller }) => {
  await caller.try("create_instance", { name: "one body" }, once("k2"));
  const reply = await caller.try("create_instance", { name: "another body" }, once("k2"));
  assertRefused(reply, 409, "idempotency_mismatch");
  assert.equal(await countNamed(caller, "another body"), 0);
});

scenario("The order of a body's fields does not matter", [], async ({ caller }) => {
  const { instanceId } = (await caller.create_instance({ name: "ordered" })).instance;
  const first = await caller.try("update_instance", { instanceId, name: "o" }, once("k3"));
  const second = await caller.try("update_instance", { name: "o", instanceId }, once("k3"));
  assert.deepEqual(resultOf(second), resultOf(first));
});

scenario("A refusal is remembered like an answer", [], async ({ caller }) => {
  const body = { instanceId: "no such id", name: "n" };
  const first = await caller.try("update_instance", body, once("k4"));
  assertRefused(first, 404, "not_found");
  const again = await caller.try("update_instance", body, once("k4"));
  assert.equal(refusalText(again), refusalText(first));
});

scenario("Two keys, two actions and two callers share no idempotency key", [], async (context) => {
  const { caller, stranger, world } = context;
  const member = world.callerFor(world.organizations[0].keys.member);
  const body = { name: "apart" };
  const ids = await Promise.all(
    [caller, stranger, member].map(async (each) => {
      const made = await each.create_instance(body, { idempotencyKey: "shared" });
      return made.instance.instanceId;
    }),
  );
  assert.equal(new Set(ids).size, 3);
  const other = { instanceId: ids[0]!, name: "another action" };
  assert.equal((await caller.try("update_instance", other, once("shared"))).status, 200);
});

scenario("An idempotency key is 1 to 255 visible ASCII characters", [], async ({ caller }) => {
  const send = (key: string) => caller.try("create_instance", { name: "keyed" }, once(key));
  for (const key of ["x".repeat(256), "with space", "\u00e9"]) {
    assertRefused(await send(key), 400, "invalid_input", key);
  }
  assert.equal((await send("x".repeat(255))).status, 200);
});

scenario("A body refused as invalid leaves its idempotency key free", [], async ({ caller }) => {
  const refused = await caller.try("create_instance", { name: "" }, once("k5"));
  assertRefused(refused, 400, "invalid_input");
  assert.equal((await caller.try("create_instance", { name: "good" }, once("k5"))).status, 200);
});
