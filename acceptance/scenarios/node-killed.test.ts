// F1 for record changes: a node is killed -9 in the middle of a call that many retries carry the
// same idempotency key for. One effect, one result, whichever side of the commit the kill fell.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Caller } from "@hawser/testkit/caller.ts";
import { holdRow, waitingStatements } from "@hawser/testkit/hold-row.ts";
import type { World } from "@hawser/testkit/world.ts";
import { scenario, useWorld } from "../scenario.ts";

const retries = 200;

// The retries are many and at once; the limit is raised for them, not bypassed.
useWorld({ nodes: 2, environment: { HAWSER_RATE_PER_SECOND: "5000", HAWSER_RATE_BURST: "5000" } });

/** Calls until there is an answer, on the next node when one is dead or does not know yet. */
async function insist(callers: Caller[], body: object, idempotencyKey: string): Promise<string> {
  const deadline = Date.now() + 30_000;
  for (let turn = 0; Date.now() < deadline; turn++) {
    const reply = await callers[turn % callers.length]!.try("create_instance", body, {
      "idempotency-key": idempotencyKey,
    }).catch(() => undefined);
    if (reply?.status === 200) return reply.text;
    if (reply) assert.ok([409, 503].includes(reply.status), reply.text);
    await sleep(20);
  }
  throw new Error("no answer within 30 s");
}

/** 200 retries over the victim and the survivor; the victim is killed when `moment` has come. */
async function race(
  world: World,
  name: string,
  victim: number,
  moment: () => Promise<void>,
): Promise<void> {
  const survivor = world.callerFor(world.caller.key, 1);
  const dying = world.callerFor(world.caller.key, victim);
  const results = Array.from({ length: retries }, (_, i) =>
    insist(
      i % 2 ? [dying, survivor] : [survivor, dying],
      { name },
      `key-of-${name.replaceAll(" ", "-")}`,
    ),
  );
  await moment();
  process.kill(world.nodes[victim]!.pid, "SIGKILL");
  const answers = new Set(await Promise.all(results));
  assert.equal(answers.size, 1, "all retries got the same answer");
  const { instances } = await survivor.search_instances({ query: name });
  assert.equal(instances.length, 1, "the effect happened once");
  const [answer] = answers;
  assert.equal(JSON.parse(answer!).result.instance.instanceId, instances[0]!.instanceId);
}

scenario(
  `${retries} retries over two nodes, one killed while it stands inside the transaction: one effect, one result`,
  [],
  async ({ world }) => {
    // Making an instance counts it in its organization's row; who holds that row stops the call there.
    const held = await holdRow(world.database.url, "SELECT FROM organizations FOR UPDATE");
    await race(world, "in the middle", 0, async () => {
      while ((await waitingStatements(world.database.url)) === 0) await sleep(10);
      void sleep(200).then(() => held[Symbol.asyncDispose]());
    });
  },
);

scenario(
  `${retries} retries over two nodes, one killed at seeded moments around the commit: one effect, one result`,
  [],
  async ({ world }) => {
    for (const milliseconds of [0, 5, 15, 30, 60]) {
      const { pid } = await world.addNode();
      const victim = world.nodes.findIndex((node) => node.pid === pid);
      await race(world, `after ${milliseconds} ms`, victim, () => sleep(milliseconds));
    }
  },
);
