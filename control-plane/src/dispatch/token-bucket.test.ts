import assert from "node:assert/strict";
import { test } from "node:test";
import { createTokenBuckets } from "./token-bucket.ts";

function bucketsWithClock(limit: { perSecond: number; burst: number }) {
  let now = 0;
  return { buckets: createTokenBuckets(limit, () => now), pass: (ms: number) => (now += ms) };
}

const takeAll = (take: () => { retryAfterMs?: number }) => {
  let taken = 0;
  while (taken < 1000 && take().retryAfterMs === undefined) taken += 1;
  return taken;
};

test("a key may burst, and then goes at its rate", () => {
  const { buckets, pass } = bucketsWithClock({ perSecond: 10, burst: 20 });
  assert.equal(
    takeAll(() => buckets.take("a")),
    20,
  );
  pass(1000);
  assert.equal(
    takeAll(() => buckets.take("a")),
    10,
  );
});

test("the wait it names is exactly long enough", () => {
  const { buckets, pass } = bucketsWithClock({ perSecond: 3, burst: 1 });
  buckets.take("a");
  const { retryAfterMs } = buckets.take("a");
  pass(retryAfterMs! - 1);
  assert.notEqual(buckets.take("a").retryAfterMs, undefined);
  pass(1);
  assert.equal(buckets.take("a").retryAfterMs, undefined);
});

test("an expensive call waits for all of its tokens, and a cheap one need not", () => {
  const { buckets, pass } = bucketsWithClock({ perSecond: 10, burst: 10 });
  assert.equal(buckets.take("a", 8).remaining, 2);
  assert.equal(buckets.take("a", 8).retryAfterMs, 600);
  assert.equal(buckets.take("a").remaining, 1);
  pass(700);
  assert.equal(buckets.take("a", 8).remaining, 0);
});

test("one key's calls cost another nothing", () => {
  const { buckets } = bucketsWithClock({ perSecond: 1, burst: 2 });
  takeAll(() => buckets.take("a"));
  assert.equal(
    takeAll(() => buckets.take("b")),
    2,
  );
});

test("the limit is shared out among the live nodes", () => {
  const { buckets, pass } = bucketsWithClock({ perSecond: 20, burst: 40 });
  buckets.share(4);
  assert.equal(
    takeAll(() => buckets.take("a")),
    10,
  );
  pass(1000);
  assert.equal(
    takeAll(() => buckets.take("a")),
    5,
  );
});

test("keys that have not called for a while are forgotten, and lose nothing by it", () => {
  const { buckets, pass } = bucketsWithClock({ perSecond: 10, burst: 20 });
  for (let i = 0; i < 1000; i++) buckets.take(`key ${i}`);
  pass(61_000);
  assert.equal(buckets.take("key 0").remaining, 19);
  assert.equal(
    takeAll(() => buckets.take("key 1")),
    20,
  );
});
