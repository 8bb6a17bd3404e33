import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal, type Frequency } from "@hawser/contract";
import { firstRun, readStart, runsFrom } from "./timing.ts";

const starts: [text: string, timeZone: string, instant: string][] = [
  ["2030-01-31T09:00:00Z", "Europe/Berlin", "2030-01-31T09:00:00.000Z"],
  ["2030-01-31T09:00:00+05:30", "Europe/Berlin", "2030-01-31T03:30:00.000Z"],
  ["2030-01-31T09:00-05:00", "Europe/Berlin", "2030-01-31T14:00:00.000Z"],
  ["2030-01-31T09:00:00", "UTC", "2030-01-31T09:00:00.000Z"],
  ["2030-01-31T09:00", "Europe/Berlin", "2030-01-31T08:00:00.000Z"],
  ["2030-07-31T09:00:00.123456789", "Europe/Berlin", "2030-07-31T07:00:00.123Z"],
  ["2030-01-31T09:00:00", "America/New_York", "2030-01-31T14:00:00.000Z"],
  ["2026-03-29T02:30:00", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
  ["2026-10-25T02:30:00", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
];

for (const [text, timeZone, instant] of starts) {
  test(`${text} in ${timeZone} is ${instant}`, () => {
    assert.equal(readStart(text, timeZone).toISOString(), instant);
  });
}

test("a start that the time zone moves out of the years 1 to 9999 is refused", () => {
  for (const [text, timeZone] of [
    ["0001-01-01T00:00:00", "Asia/Kolkata"],
    ["9999-12-31T23:00:00", "America/New_York"],
  ] as const) {
    assert.throws(
      () => readStart(text, timeZone),
      (error: unknown) => error instanceof Refusal && error.code === "invalid_input",
    );
  }
});

const now = "2026-06-15T12:00:00.000Z";
const firsts: [frequency: Frequency, start: string, hasRun: boolean, run: string | null][] = [
  ["never", "2026-06-15T12:00:00.001Z", false, "2026-06-15T12:00:00.001Z"],
  ["never", "2026-06-15T12:00:00.000Z", false, now],
  ["never", "2026-06-15T11:59:59.999Z", false, now],
  ["never", "2001-01-01T00:00:00.000Z", false, now],
  ["never", "2001-01-01T00:00:00.000Z", true, null],
  ["hourly", "2030-01-01T00:00:00.000Z", false, "2030-01-01T00:00:00.000Z"],
  ["hourly", now, false, now],
  ["hourly", "2026-06-15T11:00:00.000Z", false, "2026-06-15T13:00:00.000Z"],
  ["hourly", "2001-01-01T00:20:00.000Z", true, "2026-06-15T12:20:00.000Z"],
  ["daily", "2001-01-01T11:00:00.000Z", false, "2026-06-16T11:00:00.000Z"],
  ["monthly", "2001-01-31T11:00:00.000Z", false, "2026-06-30T11:00:00.000Z"],
];

for (const [frequency, start, hasRun, run] of firsts) {
  test(`at ${now}, a ${frequency} schedule from ${start}, ${hasRun ? "run before" : "new"}, runs at ${run}`, () => {
    const rule = { startAt: new Date(start), frequency, timeZone: "UTC" };
    assert.equal(firstRun(rule, new Date(now), hasRun)?.toISOString() ?? null, run);
  });
}

test("the runs from a first one follow each other, and end with a schedule that ends", () => {
  const startAt = new Date("2026-01-31T09:00:00.000Z");
  const monthly = { startAt, frequency: "monthly", timeZone: "UTC" } as const;
  assert.deepEqual(
    runsFrom(monthly, startAt, 3).map((run) => run.toISOString()),
    ["2026-01-31T09:00:00.000Z", "2026-02-28T09:00:00.000Z", "2026-03-31T09:00:00.000Z"],
  );
  const once = { startAt, frequency: "never", timeZone: "UTC" } as const;
  // A schedule that runs once may run late.
  assert.deepEqual(runsFrom(once, new Date(now), 3), [new Date(now)]);
  assert.deepEqual(runsFrom(once, null, 3), []);
});
