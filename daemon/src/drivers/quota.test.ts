// Used quota: the fullest period counts, until it ends.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createQuota } from "./quota.ts";

const hourMs = 3600_000;

test("the fullest period counts, and a report replaces the earlier one of its period", () => {
  const quota = createQuota(() => 0);
  assert.equal(quota.read(), null);
  quota.note("five_hour", { used: 42, resetsAt: hourMs });
  quota.note("seven_day", { used: 17, resetsAt: hourMs });
  assert.equal(quota.read(), 42);
  quota.note("five_hour", { used: 3, resetsAt: hourMs });
  assert.equal(quota.read(), 17);
});

test("a period that has ended is unused, and one without an end is forgotten after five hours", () => {
  let now = 0;
  const quota = createQuota(() => now);
  quota.note("five_hour", { used: 100, resetsAt: hourMs });
  quota.note("other", { used: 50, resetsAt: null });
  assert.equal(quota.read(), 100);
  now = hourMs;
  assert.equal(quota.read(), 50);
  now = 5 * hourMs;
  assert.equal(quota.read(), null);
});
