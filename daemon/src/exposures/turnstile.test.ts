// How much work runs at the same time.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurnstile } from "./turnstile.ts";

test("no more run at once than allowed, in their order, also if some fail", async () => {
  const pass = createTurnstile(2);
  let running = 0;
  let most = 0;
  const begun: number[] = [];
  const all = Array.from({ length: 7 }, (_, at) =>
    pass(async () => {
      begun.push(at);
      most = Math.max(most, ++running);
      await new Promise((resolve) => setTimeout(resolve, 5));
      running--;
      if (at % 3 === 0) throw new Error(`failed ${at}`);
      return at;
    }),
  );
  const results = await Promise.allSettled(all);
  assert.equal(most, 2);
  assert.deepEqual(begun, [0, 1, 2, 3, 4, 5, 6]);
  assert.deepEqual(
    results.map(({ status }) => status),
    [0, 1, 2, 3, 4, 5, 6].map((at) => (at % 3 === 0 ? "rejected" : "fulfilled")),
  );
  assert.equal(await pass(async () => "again"), "again");
});
