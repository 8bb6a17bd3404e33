import assert from "node:assert/strict";
import { once } from "node:events";
import { cpus } from "node:os";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { Worker } from "node:worker_threads";
import { machinePace, runPaced } from "./pace.ts";

/** Runs files whose ends, and moments with or without time to spare, the test decides. */
function pacedRun(together: string[], alone: string[] = []) {
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  let answer: (spare: boolean) => void = () => {};
  const pace = {
    least: 2,
    most: 3,
    hasTimeToSpare: () => new Promise<boolean>((resolve) => (answer = resolve)),
  };
  const done = runPaced({ together, alone }, pace, async (file) => {
    begun.push(file);
    await new Promise<void>((resolve) => ends.set(file, resolve));
  });
  const then = (act: () => void) => async () => (act(), await setImmediate());
  return {
    begun,
    done,
    moment: (spare: boolean) => then(() => answer(spare))(),
    end: (file: string) => then(() => ends.get(file)!())(),
  };
}

test("on a busy machine the least number of files runs at once", async () => {
  const { begun, done, moment, end } = pacedRun(["a", "b", "c"]);
  assert.deepEqual(begun, ["a", "b"]);
  await moment(false);
  await moment(false);
  assert.deepEqual(begun, ["a", "b"]);
  // The next one does not wait for the end of a moment.
  await end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  for (const file of ["a", "c"]) await end(file);
  await done;
});

test("one more file begins after each moment with time to spare, up to the most", async () => {
  const { begun, done, moment, end } = pacedRun(["a", "b", "c", "d", "e"]);
  await moment(true);
  assert.deepEqual(begun, ["a", "b", "c"]);
  await moment(true);
  assert.deepEqual(begun, ["a", "b", "c"], "no more than the most");
  await end("a");
  await moment(true);
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
  await end("b");
  await moment(true);
  for (const file of ["c", "d", "e"]) await end(file);
  await done;
});

test("files that run alone begin when all others have ended, one after the other", async () => {
  const { begun, done, end } = pacedRun(["a", "b"], ["c", "d"]);
  await end("a");
  assert.deepEqual(begun, ["a", "b"]);
  await end("b");
  assert.deepEqual(begun, ["a", "b", "c"]);
  await end("c");
  assert.deepEqual(begun, ["a", "b", "c", "d"]);
  await end("d");
  await done;
});

test("a machine that computes on all processors has no time to spare", async () => {
  const busy = cpus().map(() => new Worker("for (;;);", { eval: true }));
  await Promise.all(busy.map((worker) => once(worker, "online")));
  assert.equal(await machinePace.hasTimeToSpare(), false);
  await Promise.all(busy.map((worker) => worker.terminate()));
});
