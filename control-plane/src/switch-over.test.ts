// A node whose database has a synchronous standby, while the standby takes over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgresPair, type TakeOver } from "@hawser/testkit/postgres-pair.ts";
import { until } from "@hawser/testkit/until.ts";
import { startWorld, type World } from "@hawser/testkit/world.ts";

const readiness = async ({ baseUrl }: World) => {
  const response = await fetch(`${baseUrl}/readyz`);
  return `${response.status} ${(await response.text()).trim()}`;
};

const cases: [what: string, plan: TakeOver][] = [
  ["while the primary refuses writes", { primary: "stop", readOnlyMs: 1_500 }],
  ["while the address leads to a standby", { primary: "stop", staleMs: 1_500 }],
];

test("a node on a read-only database is not ready and answers changes 503, until the standby has taken over", async (t) => {
  await using postgres = await startPostgresPair();
  await using world = await startWorld({ cluster: postgres });
  for (const [what, plan] of cases) {
    await t.test(what, async () => {
      await world.caller.create_instance({ name: "before" });
      const over = new AbortController();
      const taking = postgres.takeOver(plan).finally(() => over.abort());
      const isSeen = async () => (await readiness(world)) === "503 the database is read-only";
      const statuses = new Set<number>();
      const calling = (async () => {
        while (!over.signal.aborted) {
          statuses.add((await world.caller.try("create_instance", { name: "meanwhile" })).status);
          await sleep(20);
        }
      })();
      await until("the node is not ready", isSeen, 5_000);
      await Promise.all([taking, calling]);
      assert.deepEqual(statuses, new Set([200, 503]));
      await until("the node is ready", async () => (await readiness(world)) === "200 ready", 5_000);
      await world.caller.create_instance({ name: "after" });
    });
  }
});
