import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { DatabaseUnavailable, LockTimeout, StatementTimeout } from "./database.ts";
import { inGroups, readInGroups } from "./in-groups.ts";

/** Work that takes a while, and records its groups. */
function openWork(
  fails: (items: number[]) => Error | undefined = () => undefined,
  group: typeof readInGroups = inGroups,
) {
  const groups: number[][] = [];
  const take = group(async (items: number[]) => {
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

test("an item whose statement takes too long fails alone", async () => {
  const slow = (items: number[]) => (items.includes(3) ? new StatementTimeout("slow") : undefined);
  const { take } = openWork(slow);
  assert.deepEqual(await outcomesOf([1, 2, 3, 4, 5].map(take)), [10, 20, "failed", 40, 50]);
});

test("while the database is slow for everyone a group is not tried item by item", async () => {
  const { take, groups } = openWork(() => new StatementTimeout("slow"));
  const many = Array.from({ length: 400 }, (_, index) => index);
  const outcomes = await outcomesOf(many.map(take));
  assert.ok(outcomes.every((outcome) => outcome === "failed"));
  assert.equal(groups.length, 7, "the group, three splits down to one item, and three more");
});

test("a read that takes too long is not repeated for each item", async () => {
  const { take, groups } = openWork(() => new StatementTimeout("slow"), readInGroups);
  assert.deepEqual(await outcomesOf([1, 2, 3].map(take)), ["failed", "failed", "failed"]);
  assert.equal(groups.length, 1);
});

test("a value that cannot be read fails alone", async () => {
  const unfit = (items: number[]) => (items.includes(3) ? new Error("unfit") : undefined);
  const { take } = openWork(unfit, readInGroups);
  assert.deepEqual(await outcomesOf([1, 2, 3, 4].map(take)), [10, 20, "failed", 40]);
});

test("an item that waits for a lock delays the others by less than a second, and follows when it can", async () => {
  const blocked = 377;
  let isLocked = true;
  const take = inGroups(async (items: number[], lockMs) => {
    if (isLocked && items.includes(blocked)) {
      await sleep(lockMs);
      throw new LockTimeout("locked");
    }
    return items.map((item) => item * 10);
  });
  const startedAt = performance.now();
  const many = Array.from({ length: 500 }, (_, index) => index);
  let isWritten = false;
  const waiting = take(blocked).finally(() => (isWritten = true));
  await Promise.all(many.filter((item) => item !== blocked).map(take));
  // A group that arrives meanwhile does not wait for the lock either.
  await take(1_000);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 1_000, `${tookMs} ms`);
  assert.equal(isWritten, false);
  isLocked = false;
  assert.equal(await waiting, blocked * 10);
});

test("a group whose rows are all locked, by that of another node, is written once they are free", async () => {
  let isLocked = true;
  const take = inGroups(async (items: number[], lockMs) => {
    if (!isLocked) return items.map((item) => item * 10);
    await sleep(lockMs);
    throw new LockTimeout("locked");
  });
  const many = Array.from({ length: 300 }, (_, index) => index);
  const all = Promise.all(many.map(take));
  await sleep(1_200);
  isLocked = false;
  assert.deepEqual(
    await all,
    many.map((item) => item * 10),
  );
});

test("an item waits for a lock no longer than its time, and then fails", async () => {
  const take = inGroups(
    async (_items: number[], lockMs): Promise<number[]> => {
      await sleep(lockMs);
      throw new LockTimeout("locked");
    },
    { patienceMs: 700 },
  );
  const startedAt = performance.now();
  await assert.rejects(take(1), LockTimeout);
  assert.ok(performance.now() - startedAt < 1_500);
});
