// Used quota: the fullest period counts, until it ends.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openQuota } from "./quota.ts";

const hourMs = 3600_000;

test("the fullest period counts, and a report replaces the earlier one of its period", () => {
  const quota = openQuota({ now: () => 0 });
  assert.equal(quota.read(), null);
  quota.note("five_hour", { used: 42, resetsAt: hourMs });
  quota.note("seven_day", { used: 17, resetsAt: hourMs });
  assert.equal(quota.read()?.percent, 42);
  quota.note("five_hour", { used: 3, resetsAt: hourMs });
  assert.equal(quota.read()?.percent, 17);
});

test("a period that has ended is unused, and one without an end is forgotten after five hours", () => {
  let now = 0;
  const quota = openQuota({ now: () => now });
  quota.note("five_hour", { used: 100, resetsAt: hourMs });
  quota.note("other", { used: 50, resetsAt: null });
  assert.equal(quota.read()?.percent, 100);
  now = hourMs;
  assert.equal(quota.read()?.percent, 50);
  now = 5 * hourMs;
  assert.equal(quota.read(), null);
});

test("it is known after a restart, with the time of the report, and forgotten with another login", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-quota-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "quota.json");
  const login = join(directory, "login");
  writeFileSync(login, "Ada's");
  let now = 1000;
  const open = () => openQuota({ file, login, now: () => now });
  open().note("five_hour", { used: 42, resetsAt: hourMs });
  now = 2000;
  assert.deepEqual(open().read(), { percent: 42, at: 1000 });
  writeFileSync(login, "somebody else's");
  assert.equal(open().read(), null);
  open().note("five_hour", { used: 7, resetsAt: hourMs });
  const other = open();
  assert.deepEqual(other.read(), { percent: 7, at: 2000 });
  other.forget();
  assert.equal(open().read(), null);
  writeFileSync(file, "{");
  assert.equal(open().read(), null);
});
