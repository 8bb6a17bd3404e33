import assert from "node:assert/strict";
import { test } from "node:test";
import { usedBetween } from "./tokens.ts";

const count = (input: number, cached: number, written: number, output: number) => ({
  inputTokens: input,
  cachedInputTokens: cached,
  cacheWriteInputTokens: written,
  outputTokens: output,
});

test("usage is the difference of two counts, with cached tokens counted once", () => {
  assert.deepEqual(usedBetween(count(1000, 400, 0, 50), count(3000, 1400, 100, 90)), {
    inputTokens: 900,
    outputTokens: 40,
    cacheReadTokens: 1000,
    cacheWriteTokens: 100,
  });
  const same = count(1000, 400, 0, 50);
  assert.equal(usedBetween(same, same), undefined);
  assert.equal(usedBetween(same, count(500, 0, 0, 20)), undefined);
});
