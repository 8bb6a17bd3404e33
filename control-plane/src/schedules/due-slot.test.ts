// Which time is run if a schedule was not looked at in time.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Frequency } from "@hawser/contract";
import { slotOf } from "./due-slot.ts";

interface Case {
  frequency: Frequency;
  startAt: string;
  slot: string;
  now: string;
  timeZone?: string;
  runAt: string;
  next: string | null;
  missed?: string;
}

const cases: Record<string, Case> = {
  "in time": {
    frequency: "hourly",
    startAt: "2026-11-17T08:30:00Z",
    slot: "2026-11-17T10:30:00Z",
    now: "2026-11-17T10:30:01Z",
    runAt: "2026-11-17T10:30:00Z",
    next: "2026-11-17T11:30:00Z",
  },
  "late by less than a period": {
    frequency: "hourly",
    startAt: "2026-11-17T08:30:00Z",
    slot: "2026-11-17T10:30:00Z",
    now: "2026-11-17T11:29:59.999Z",
    runAt: "2026-11-17T10:30:00Z",
    next: "2026-11-17T11:30:00Z",
  },
  "late by exactly a period": {
    frequency: "hourly",
    startAt: "2026-11-17T08:30:00Z",
    slot: "2026-11-17T10:30:00Z",
    now: "2026-11-17T11:30:00Z",
    runAt: "2026-11-17T11:30:00Z",
    next: "2026-11-17T12:30:00Z",
    missed: "1 time was missed since 2026-11-17T10:30:00Z",
  },
  "late by three days": {
    frequency: "daily",
    startAt: "2026-11-01T09:00:00Z",
    slot: "2026-11-10T09:00:00Z",
    now: "2026-11-13T12:00:00Z",
    runAt: "2026-11-13T09:00:00Z",
    next: "2026-11-14T09:00:00Z",
    missed: "3 times were missed since 2026-11-10T09:00:00Z",
  },
  "late by ten years": {
    frequency: "hourly",
    startAt: "2016-01-01T00:00:00Z",
    slot: "2016-01-01T00:00:00Z",
    now: "2026-01-01T00:10:00Z",
    runAt: "2026-01-01T00:00:00Z",
    next: "2026-01-01T01:00:00Z",
    missed: "87672 times were missed since 2016-01-01T00:00:00Z",
  },
  "weekly over a change of the clock": {
    frequency: "weekly",
    startAt: "2026-10-19T07:00:00Z",
    slot: "2026-10-19T07:00:00Z",
    now: "2026-10-26T08:00:00Z",
    timeZone: "Europe/Berlin",
    runAt: "2026-10-26T08:00:00Z",
    next: "2026-11-02T08:00:00Z",
    missed: "1 time was missed since 2026-10-19T07:00:00Z",
  },
  "monthly from the 31st": {
    frequency: "monthly",
    startAt: "2026-01-31T12:00:00Z",
    slot: "2026-01-31T12:00:00Z",
    now: "2026-03-01T00:00:00Z",
    runAt: "2026-02-28T12:00:00Z",
    next: "2026-03-31T12:00:00Z",
    missed: "1 time was missed since 2026-01-31T12:00:00Z",
  },
  "once, years late": {
    frequency: "never",
    startAt: "2020-01-01T00:00:00Z",
    slot: "2020-01-01T00:00:00Z",
    now: "2026-01-01T00:00:00Z",
    runAt: "2020-01-01T00:00:00Z",
    next: null,
  },
  "once, with a first time in the past": {
    frequency: "never",
    startAt: "2020-01-01T00:00:00Z",
    slot: "2026-01-01T00:00:00.123Z",
    now: "2026-01-01T00:00:01Z",
    runAt: "2026-01-01T00:00:00.123Z",
    next: null,
  },
  "the clock of the database was set back": {
    frequency: "hourly",
    startAt: "2026-11-17T08:30:00Z",
    slot: "2026-11-17T10:30:00Z",
    now: "2026-11-17T09:30:00Z",
    runAt: "2026-11-17T10:30:00Z",
    next: "2026-11-17T11:30:00Z",
  },
};

for (const [name, each] of Object.entries(cases)) {
  test(`the claim of a schedule that is due: ${name}`, () => {
    const slot = slotOf({
      organization_id: "o",
      schedule_id: "s",
      slot: each.slot,
      slot_at: each.slot,
      start_at: each.startAt,
      frequency: each.frequency,
      time_zone: each.timeZone ?? "UTC",
      now: each.now,
      bytes: 1,
    });
    const instant = (text: string | null) => text && new Date(text).toISOString();
    assert.deepEqual(
      [instant(slot.run_at), instant(slot.next_run_at)],
      [instant(each.runAt), instant(each.next)],
    );
    assert.equal(slot.slot, each.slot);
    if (each.missed === undefined) assert.equal(slot.missed, null);
    else assert.ok(slot.missed?.includes(`${each.missed}.`), slot.missed ?? "nothing missed");
  });
}
