import assert from "node:assert/strict";
import { test } from "node:test";
import { expiryOf } from "./expiry.ts";

test("4.1 Logins: expiry is amber from 5 days", () => {
  const now = Date.parse("2026-11-19T10:00:00Z");
  const hours = (n: number) => new Date(now + n * 3600_000).toISOString();
  const table: [number, string, boolean][] = [
    [30 * 24, "expires in 30 days", false],
    [5 * 24 + 1, "expires in 5 days", false],
    [5 * 24, "expires in 5 days", true],
    [47, "expires in 1 day", true],
    [23, "expires today", true],
    [0, "has probably expired", true],
    [-1, "has probably expired", true],
  ];
  for (const [left, text, isWarning] of table) {
    assert.deepEqual(expiryOf(hours(left), now), { text, isWarning }, `${left} hours`);
  }
});
