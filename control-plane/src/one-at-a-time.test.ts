import assert from "node:assert/strict";
import { test } from "node:test";
import { oneAtATime } from "./one-at-a-time.ts";

test("calls during a run share one further run, which starts after it, also after a failure", async () => {
  const runs: PromiseWithResolvers<number>[] = [];
  const call = oneAtATime(() => {
    const run = Promise.withResolvers<number>();
    runs.push(run);
    return run.promise;
  });
  const first = call();
  await new Promise(setImmediate);
  const [second, third] = [call(), call()];
  await new Promise(setImmediate);
  assert.equal(runs.length, 1);
  runs[0]!.reject(new Error("failed"));
  await assert.rejects(first, /failed/);
  await new Promise(setImmediate);
  assert.equal(runs.length, 2);
  runs[1]!.resolve(2);
  assert.deepEqual(await Promise.all([second, third]), [2, 2]);
  const fourth = call();
  await new Promise(setImmediate);
  runs[2]!.resolve(3);
  assert.equal(await fourth, 3);
});
