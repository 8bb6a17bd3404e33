import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable } from "./database.ts";
import { inGroups } from "./in-groups.ts";

/** Work that takes a while, and records its groups. */
function openWork(fails: (items: number[]) => Error | undefined = () => undefined) {
  const groups: number[][] = [];
  const take = inGroups(async (items: number[]) => {
    groups.push(items);
    await sleep(5);
    const error = fails(items);
    if (error) throw error;
    return items.map((item) => item * 10);
  });
  return { take, groups };
}

const outcomesOf = async (all: Promise<number>[]) =>
  (await Promise.allSettled(all)).map((result) =>
    result.status === "fulfilled" ? result.value : "failed",
  );

test("what comes while a group is written is the next one, and each gets its own result", async () => {
  const { take, groups } = openWork();
  const first = [take(1), take(2)];
  await turn();
  const all = Promise.all([...first, take(3), take(4), take(5)]);
  assert.deepEqual(await all, [10, 20, 30, 40, 50]);
  assert.equal(await take(6), 60, "it goes on after a rest");
  assert.deepEqual(groups, [[1, 2], [3, 4, 5], [6]]);
});

test("one that cannot be written fails alone", async () => {
  const unfit = (items: number[]) => (items.includes(3) ? new Error("unfit") : undefined);
  const { take } = openWork(unfit);
  assert.deepEqual(await outcomesOf([1, 2, 3, 4, 5].map(take)), [10, 20, "failed", 40, 50]);
});

test("a database that is away fails a group at once, and is not asked for each", async () => {
  const { take, groups } = openWork(() => new DatabaseUnavailable("away"));
  assert.deepEqual(await outcomesOf([1, 2, 3].map(take)), ["failed", "failed", "failed"]);
  assert.equal(groups.length, 1);
});
