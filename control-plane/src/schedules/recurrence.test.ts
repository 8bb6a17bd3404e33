import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frequency } from "@hawser/contract";
import { countRuns, latestRun, nextRun, type Recurrence } from "./recurrence.ts";

/** A time zone, a frequency, and the first times of a schedule, as its clocks show them. */
type Sequence = [timeZone: string, frequency: Frequency, ...times: string[]];

const berlin = "Europe/Berlin";
const newYork = "America/New_York";
const lordHowe = "Australia/Lord_Howe";
const apia = "Pacific/Apia";
const kolkata = "Asia/Kolkata";

const sequences: Record<string, Sequence[]> = {
  "an hour is 3,600 seconds, whatever the clocks do": [
    ["UTC", "hourly", "2026-12-31T22:15Z", "2026-12-31T23:15Z", "2027-01-01T00:15Z"],
    ["UTC", "hourly", "2024-02-28T23:59:59.999Z", "2024-02-29T00:59:59.999Z"],
    [
      berlin,
      "hourly",
      "2026-03-29T00:30+01:00",
      "2026-03-29T01:30+01:00",
      "2026-03-29T03:30+02:00",
    ],
    [
      berlin,
      "hourly",
      "2026-10-25T01:30+02:00",
      "2026-10-25T02:30+02:00",
      "2026-10-25T02:30+01:00",
    ],
    [lordHowe, "hourly", "2026-10-04T01:45+10:30", "2026-10-04T03:15+11:00"],
    [kolkata, "hourly", "2026-03-29T00:10+05:30", "2026-03-29T01:10+05:30"],
    [apia, "hourly", "2011-12-29T23:30-10:00", "2011-12-31T00:30+14:00"],
  ],
  "a day keeps the time that the clocks show": [
    ["UTC", "daily", "2024-02-28T09:00Z", "2024-02-29T09:00Z", "2024-03-01T09:00Z"],
    ["UTC", "daily", "2026-02-28T09:00:00.123Z", "2026-03-01T09:00:00.123Z"],
    ["UTC", "daily", "2026-12-31T23:59Z", "2027-01-01T23:59Z"],
    [berlin, "daily", "2026-03-28T09:00+01:00", "2026-03-29T09:00+02:00", "2026-03-30T09:00+02:00"],
    [berlin, "daily", "2026-10-24T09:00+02:00", "2026-10-25T09:00+01:00"],
    [newYork, "daily", "2026-03-07T09:00-05:00", "2026-03-08T09:00-04:00"],
    [newYork, "daily", "2026-10-31T23:30-04:00", "2026-11-01T23:30-05:00"],
    [kolkata, "daily", "2026-03-28T02:30+05:30", "2026-03-29T02:30+05:30"],
  ],
  "a time that the clocks skip moves forward by as much as they skip": [
    [berlin, "daily", "2026-03-28T02:30+01:00", "2026-03-29T03:30+02:00", "2026-03-30T02:30+02:00"],
    [berlin, "daily", "2026-03-28T02:00+01:00", "2026-03-29T03:00+02:00", "2026-03-30T02:00+02:00"],
    [berlin, "daily", "2026-03-28T03:00+01:00", "2026-03-29T03:00+02:00"],
    [
      berlin,
      "weekly",
      "2026-03-22T02:30+01:00",
      "2026-03-29T03:30+02:00",
      "2026-04-05T02:30+02:00",
    ],
    [
      berlin,
      "monthly",
      "2026-02-28T02:30+01:00",
      "2026-03-28T02:30+01:00",
      "2026-04-28T02:30+02:00",
    ],
    [
      berlin,
      "monthly",
      "2025-01-30T02:30+01:00",
      "2025-02-28T02:30+01:00",
      "2025-03-30T03:30+02:00",
    ],
    [
      newYork,
      "daily",
      "2026-03-07T02:30-05:00",
      "2026-03-08T03:30-04:00",
      "2026-03-09T02:30-04:00",
    ],
    [
      lordHowe,
      "daily",
      "2026-10-03T02:15+10:30",
      "2026-10-04T02:45+11:00",
      "2026-10-05T02:15+11:00",
    ],
    ["America/Sao_Paulo", "daily", "2018-11-03T00:00-03:00", "2018-11-04T01:00-02:00"],
  ],
  "a day that the calendar skips is left to the next one": [
    [apia, "daily", "2011-12-29T09:00-10:00", "2011-12-31T09:00+14:00", "2012-01-01T09:00+14:00"],
    [apia, "weekly", "2011-12-23T09:00-10:00", "2011-12-31T09:00+14:00", "2012-01-06T09:00+14:00"],
    [apia, "monthly", "2011-11-30T09:00-10:00", "2011-12-31T09:00+14:00", "2012-01-30T09:00+14:00"],
  ],
  "a time that the clocks show twice is the first of both": [
    [berlin, "daily", "2026-10-24T02:30+02:00", "2026-10-25T02:30+02:00", "2026-10-26T02:30+01:00"],
    [
      berlin,
      "weekly",
      "2026-10-18T02:30+02:00",
      "2026-10-25T02:30+02:00",
      "2026-11-01T02:30+01:00",
    ],
    [
      berlin,
      "monthly",
      "2026-09-25T02:30+02:00",
      "2026-10-25T02:30+02:00",
      "2026-11-25T02:30+01:00",
    ],
    [
      newYork,
      "daily",
      "2026-10-31T01:30-04:00",
      "2026-11-01T01:30-04:00",
      "2026-11-02T01:30-05:00",
    ],
    [
      lordHowe,
      "daily",
      "2026-04-04T01:45+11:00",
      "2026-04-05T01:45+11:00",
      "2026-04-06T01:45+10:30",
    ],
  ],
  "a first time is what the caller wrote, also if it is the second of both": [
    [newYork, "daily", "2026-11-01T01:30-05:00", "2026-11-02T01:30-05:00"],
    [berlin, "monthly", "2026-10-25T02:30+01:00", "2026-11-25T02:30+01:00"],
  ],
  "a week has seven days": [
    ["UTC", "weekly", "2026-12-28T08:00Z", "2027-01-04T08:00Z", "2027-01-11T08:00Z"],
    ["UTC", "weekly", "2024-02-26T08:00Z", "2024-03-04T08:00Z"],
    [newYork, "weekly", "2026-03-02T18:00-05:00", "2026-03-09T18:00-04:00"],
  ],
  "a month that is too short has the run on its last day, and the next month on the first run's day":
    [
      [
        "UTC",
        "monthly",
        "2026-01-31T09:00Z",
        "2026-02-28T09:00Z",
        "2026-03-31T09:00Z",
        "2026-04-30T09:00Z",
      ],
      ["UTC", "monthly", "2024-01-31T09:00Z", "2024-02-29T09:00Z", "2024-03-31T09:00Z"],
      ["UTC", "monthly", "2000-01-30T09:00Z", "2000-02-29T09:00Z", "2000-03-30T09:00Z"],
      ["UTC", "monthly", "2099-12-31T09:00Z", "2100-01-31T09:00Z", "2100-02-28T09:00Z"],
      ["UTC", "monthly", "2024-02-29T09:00Z", "2024-03-29T09:00Z", "2024-04-29T09:00Z"],
      [
        "UTC",
        "monthly",
        "2026-10-15T00:00Z",
        "2026-11-15T00:00Z",
        "2026-12-15T00:00Z",
        "2027-01-15T00:00Z",
      ],
      [
        berlin,
        "monthly",
        "2026-01-31T00:15+01:00",
        "2026-02-28T00:15+01:00",
        "2026-03-31T00:15+02:00",
      ],
      [
        newYork,
        "monthly",
        "2026-10-31T22:00-04:00",
        "2026-11-30T22:00-05:00",
        "2026-12-31T22:00-05:00",
      ],
      [
        kolkata,
        "monthly",
        "2026-01-31T00:00+05:30",
        "2026-02-28T00:00+05:30",
        "2026-03-31T00:00+05:30",
      ],
    ],
};

const ruleOf = ([timeZone, frequency, start]: Sequence): Recurrence => ({
  startAt: new Date(start!),
  frequency,
  timeZone,
});

for (const [rule, rows] of Object.entries(sequences)) {
  for (const row of rows) {
    const [timeZone, frequency, ...times] = row;
    test(`${rule}: ${frequency} in ${timeZone} from ${times[0]}`, () => {
      const expected = times.map((time) => new Date(time));
      let after = new Date(expected[0]!.getTime() - 1);
      for (const time of expected) {
        const run = nextRun(ruleOf(row), after);
        assert.equal(run?.toISOString(), time.toISOString());
        assert.deepEqual(latestRun(ruleOf(row), time), time);
        after = run!;
      }
    });
  }
}

/** A schedule, an instant, and the first time after the instant. */
const laterRows: [Sequence, after: string, next: string | null][] = [
  [["UTC", "never", "2026-05-01T00:00Z"], "2026-04-30T23:59:59.999Z", "2026-05-01T00:00Z"],
  [["UTC", "never", "2026-05-01T00:00Z"], "2026-05-01T00:00Z", null],
  [["UTC", "never", "2026-05-01T00:00Z"], "2999-01-01T00:00Z", null],
  [["UTC", "daily", "2026-05-01T00:00Z"], "0001-01-01T00:00Z", "2026-05-01T00:00Z"],
  [["UTC", "hourly", "1970-01-01T00:20Z"], "2026-11-17T19:34:59Z", "2026-11-17T20:20Z"],
  [["UTC", "weekly", "1999-12-31T08:00Z"], "2026-11-17T00:00Z", "2026-11-20T08:00Z"],
  [["UTC", "monthly", "1970-01-31T08:00Z"], "2026-02-15T00:00Z", "2026-02-28T08:00Z"],
  [["UTC", "monthly", "1970-01-31T08:00Z"], "2026-02-28T08:00Z", "2026-03-31T08:00Z"],
  [[berlin, "daily", "1970-01-01T07:00+01:00"], "2026-07-01T06:00+02:00", "2026-07-01T07:00+02:00"],
  [[berlin, "daily", "1970-01-01T02:30+01:00"], "2026-03-28T12:00Z", "2026-03-29T03:30+02:00"],
  [[newYork, "daily", "0001-01-01T12:00Z"], "2026-07-01T00:00Z", "2026-07-01T07:03:58-04:00"],
  [["UTC", "daily", "9999-12-30T12:00Z"], "9999-12-30T12:00Z", "9999-12-31T12:00Z"],
  [["UTC", "daily", "9999-12-30T12:00Z"], "9999-12-31T12:00Z", null],
  [[newYork, "monthly", "9999-12-01T12:00Z"], "9999-12-01T12:00Z", null],
  [["europe/BERLIN", "daily", "2026-03-28T02:30+01:00"], "2026-03-28T12:00Z", "2026-03-29T01:30Z"],
];

for (const [row, after, next] of laterRows) {
  test(`after ${after}, a ${row[1]} schedule in ${row[0]} from ${row[2]} runs at ${next}`, () => {
    const run = nextRun(ruleOf(row), new Date(after));
    assert.equal(run?.toISOString(), next === null ? undefined : new Date(next).toISOString());
  });
}

test("a schedule has no latest time before its first one", () => {
  const rule = ruleOf(["UTC", "daily", "2026-05-01T00:00Z"]);
  assert.equal(latestRun(rule, new Date("2026-04-30T23:59:59.999Z")), null);
  assert.equal(
    latestRun(rule, new Date("2026-05-01T00:00Z"))?.toISOString(),
    "2026-05-01T00:00:00.000Z",
  );
  const once = ruleOf(["UTC", "never", "2026-05-01T00:00Z"]);
  assert.deepEqual(latestRun(once, new Date("2030-01-01T00:00Z")), once.startAt);
});

test("the times between two instants are counted without the first and with the last", () => {
  const rule = ruleOf([berlin, "daily", "2026-03-28T02:30+01:00"]);
  const count = (after: string, upTo: string) => countRuns(rule, new Date(after), new Date(upTo));
  assert.equal(count("2026-03-28T02:30+01:00", "2026-03-30T02:30+02:00"), 2);
  assert.equal(count("2026-03-28T02:30+01:00", "2026-03-30T02:29+02:00"), 1);
  assert.equal(count("2026-01-01T00:00Z", "2026-03-28T02:30+01:00"), 1);
  assert.equal(count("2026-01-01T00:00Z", "2026-01-02T00:00Z"), 0);
});

const zones = [
  "UTC",
  berlin,
  newYork,
  lordHowe,
  kolkata,
  "Africa/Casablanca",
  "America/St_Johns",
  "Asia/Kathmandu",
  "Pacific/Chatham",
];
const frequencies: Frequency[] = ["hourly", "daily", "weekly", "monthly"];
const cases = process.env["HAWSER_LONG"] === "1" ? 100_000 : 10_000;

test(`${cases} random schedules run at their times, and at no others`, () => {
  const random = randomNumbers(20_261_117);
  const between = (from: number, to: number) => Math.floor(from + random() * (to - from));
  const years = (year: number) => Date.UTC(year, 0, 1);
  for (let index = 0; index < cases; index += 1) {
    const rule: Recurrence = {
      // Half of them at a full half hour, where clocks change.
      startAt: new Date(roundedIf(random() < 0.5, between(years(1980), years(2040)))),
      frequency: frequencies[between(0, frequencies.length)]!,
      timeZone: zones[between(0, zones.length)]!,
    };
    const after = new Date(between(years(1975), years(2045)));
    const about = JSON.stringify({ ...rule, after });
    const next = nextRun(rule, after)!;
    assert.ok(next > after, about);
    if (after < rule.startAt) {
      assert.deepEqual(next, rule.startAt, about);
      continue;
    }
    // Every instant since the time before has the same next time, so there is none in between.
    const before = latestRun(rule, after)!;
    assert.ok(before <= after, about);
    assert.deepEqual(nextRun(rule, before), next, about);
    assert.deepEqual(nextRun(rule, new Date(next.getTime() - 1)), next, about);
    const apart = (next.getTime() - before.getTime()) / 3_600_000;
    const [least, most] = spacing[rule.frequency]!;
    assert.ok(apart >= least && apart <= most, `${apart} hours: ${about}`);
    if (rule.frequency !== "hourly") assertWallClock(rule, next, about);
  }
});

/** Hours between two times: clocks change by at most an hour in these zones. */
const spacing: Partial<Record<Frequency, [least: number, most: number]>> = {
  hourly: [1, 1],
  daily: [22, 26],
  weekly: [166, 170],
  monthly: [28 * 24 - 2, 31 * 24 + 2],
};

const roundedIf = (isRounded: boolean, instant: number) =>
  isRounded ? Math.floor(instant / 1_800_000) * 1_800_000 : instant;

const shownBy = new Map(
  zones.map((timeZone) => {
    const style = { dateStyle: "short", timeStyle: "medium", timeZone } as const;
    return [timeZone, new Intl.DateTimeFormat("sv-SE", style)];
  }),
);

/** What the clocks show, such as 2026-03-29 03:30:00. */
const shown = (timeZone: string, instant: number) => shownBy.get(timeZone)!.format(instant);

/** The clocks show the first time's time of day, or skip it on that day and show the time after the gap. */
function assertWallClock({ startAt, frequency, timeZone }: Recurrence, run: Date, about: string) {
  const [anchorDay, anchorTime] = shown(timeZone, startAt.getTime()).split(" ");
  const [runDay, runTime] = shown(timeZone, run.getTime()).split(" ");
  if (runTime !== anchorTime) {
    const skipped = [30, 60].some((minutes) => {
      const justBefore = run.getTime() - minutes * 60_000;
      const missing = `${runDay} ${anchorTime}`;
      // Without the gap, the clocks would show the first time's time of day this much later.
      const asIf =
        Date.parse(`${runDay}T${runTime}Z`) - Date.parse(`${missing.replace(" ", "T")}Z`);
      const isGap =
        shown(timeZone, justBefore) < missing && shown(timeZone, run.getTime()) > missing;
      return asIf === minutes * 60_000 && isGap;
    });
    assert.ok(skipped, `${runDay} ${runTime} instead of ${anchorTime}: ${about}`);
  }
  if (frequency !== "monthly") return;
  const [year, month, day] = runDay!.split("-").map(Number);
  const lastDay = new Date(Date.UTC(year!, month, 0)).getUTCDate();
  assert.equal(day, Math.min(Number(anchorDay!.slice(-2)), lastDay), about);
}

/** Random numbers in [0, 1), the same for the same seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
