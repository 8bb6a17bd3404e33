// Which texts are moments, and which names are time zones.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isDateTime, isTimeZone } from "./moments.ts";

test("a moment is a date of the calendar with a time of day, with or without an offset", () => {
  const moments = [
    "2030-01-01T00:00:00Z",
    "2030-01-01T00:00Z",
    "2030-01-01T00:00",
    "2030-01-01T09:30:15.123456+05:45",
    "2028-02-29T23:59:59-11:00",
    "2000-02-29T00:00:00Z",
    "1970-01-01T00:00:00Z",
    "9999-12-31T23:59:59Z",
  ];
  for (const text of moments) assert.ok(isDateTime(text), text);
});

test("what is no date, no day of the calendar or has no time of day is no moment", () => {
  const others = [
    "",
    "soon",
    "tomorrow",
    "2030-01-01",
    "20300101T000000Z",
    "2030-1-1T00:00:00Z",
    "2026-13-01T00:00:00Z",
    "2026-00-01T00:00:00Z",
    "2030-02-30T00:00:00Z",
    "2027-02-29T00:00:00Z",
    "1900-02-29T00:00:00Z",
    "2030-04-31T00:00:00Z",
    "2030-01-00T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T00:60:00Z",
    "2030-01-01T00:00:60Z",
    "2030-01-01T00:00:00+24:00",
    "2030-01-01 00:00:00Z",
    "2030-01-01T00:00:00Z\n",
    " 2030-01-01T00:00:00Z",
    "0000-01-01T00:00:00Z",
    "0001-01-01T00:00:00+01:00",
    "9999-12-31T23:59:59-01:00",
    "+012030-01-01T00:00:00Z",
    "1893456000000",
  ];
  for (const text of others) assert.ok(!isDateTime(text), JSON.stringify(text));
});

test("a time zone is known by its name in the IANA database", () => {
  for (const name of ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata"]) {
    assert.ok(isTimeZone(name), name);
  }
  for (const name of ["", "+02:00", "Europe/Atlantis", "Mars", "../etc", "Europe/Berlin "]) {
    assert.ok(!isTimeZone(name), name);
  }
});
