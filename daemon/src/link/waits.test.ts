// The waits of a link before it dials again. They are random, so many hosts are asked and the spread is judged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { EdgeBusy, readRetryAfter } from "./edge-busy.ts";
import { defaultTiming } from "./timing.ts";
import { createWaits, type Waits } from "./waits.ts";

const hosts = 2_000;

/** The waits of many hosts, shortest first. */
function waitsOf(wait: (waits: Waits) => number): number[] {
  const all = Array.from({ length: hosts }, () => wait(createWaits(defaultTiming)));
  return all.toSorted((a, b) => a - b);
}

const failed = new Error("The edge cannot be reached.");

test("hosts that lost their links spread evenly over the window", () => {
  const waits = waitsOf((each) => {
    each.spreadOver(60);
    return each.afterLoss();
  });
  for (const share of [0.25, 0.5, 0.75]) {
    const at = waits[hosts * share]!;
    assert.ok(Math.abs(at - share * 60_000) < 6_000, `${share}: ${at} ms`);
  }
  assert.ok(waits.at(-1)! <= 60_250);
});

test("a window is at most five minutes", () => {
  const waits = waitsOf((each) => {
    each.spreadOver(1_000_000);
    return each.afterLoss();
  });
  assert.ok(waits.at(-1)! <= 300_250);
});

test("without an answer, hosts dial about once per window; without a window, every few seconds", () => {
  const tenth = (waits: Waits) => {
    for (let tries = 1; tries < 10; tries++) waits.afterFailure(failed);
    return waits.afterFailure(failed);
  };
  const without = waitsOf(tenth);
  assert.ok(without.at(-1)! <= 3_500);
  const within = waitsOf((each) => {
    each.spreadOver(60);
    return tenth(each);
  });
  assert.ok(within[hosts / 2]! > 25_000 && within.at(-1)! <= 60_000);
});

test("a busy edge's own time counts, and makes no later wait longer", () => {
  const waits = createWaits(defaultTiming);
  for (let tries = 0; tries < 50; tries++) {
    assert.equal(waits.afterFailure(new EdgeBusy("busy", 1_234)), 1_234);
  }
  assert.ok(waits.afterFailure(failed) <= 250);
});

for (const [header, from, to] of [
  ["1", 1_000, 2_000],
  ["60", 60_000, 61_000],
  ["86400", 300_000, 301_000],
  ["9".repeat(400), 300_000, 301_000],
] as const) {
  test(`Retry-After: ${header.slice(0, 9)} is a wait of ${from} to ${to} ms`, () => {
    const waits = Array.from({ length: 100 }, () => readRetryAfter(header)!);
    assert.ok(Math.min(...waits) >= from && Math.max(...waits) <= to);
    assert.ok(new Set(waits).size > 90, "hosts with the same answer return apart");
  });
}

test("a header that is no number of seconds is ignored", () => {
  for (const header of [undefined, "", "0", "-1", "1.5", "soon", "Wed, 21 Oct 2026 07:28:00 GMT"]) {
    assert.equal(readRetryAfter(header), undefined, header);
  }
});
