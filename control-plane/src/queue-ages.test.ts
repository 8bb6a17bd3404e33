import assert from "node:assert/strict";
import { test } from "node:test";
import { createQueueAges } from "./queue-ages.ts";

test("the age of a queue is that of its oldest unfinished item, whatever finishes first", async () => {
  let now = 0;
  const ages = createQueueAges(() => now);
  const first = Promise.withResolvers<string>();
  const second = Promise.withResolvers<string>();
  const tracked = ages.track("hello", first.promise);
  now = 1_000;
  const later = ages.track("hello", second.promise);
  const other = ages.track("report", Promise.reject(new Error("not stored")));
  await assert.rejects(other, /not stored/);
  now = 3_000;
  assert.deepEqual(
    ages.read(),
    new Map([
      ["hello", 3],
      ["report", 0],
    ]),
  );
  first.resolve("one");
  assert.equal(await tracked, "one");
  assert.equal(ages.read().get("hello"), 2);
  second.resolve("two");
  await later;
  assert.equal(ages.read().get("hello"), 0);
});
