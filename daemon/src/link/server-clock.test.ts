// The server's time, as a host knows it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createServerClock } from "./server-clock.ts";

const day = 24 * 3600_000;
const noon = Date.parse("2026-03-01T12:00:00Z");

function open(wall: number) {
  const own = { wall, steady: 5_000 };
  const clock = createServerClock({ wall: () => own.wall, steady: () => own.steady });
  /** Real time passes, whatever the wall clock says. */
  const pass = (ms: number) => {
    own.wall += ms;
    own.steady += ms;
  };
  return { own, clock, pass };
}

const header = (time: number) => new Date(time).toUTCString();

test("until something is learnt it is the machine's own time, and then the server's", () => {
  const { clock, pass } = open(noon - 2 * day);
  assert.equal(clock.isKnown(), false);
  assert.equal(clock.now(), noon - 2 * day);
  assert.equal(clock.learn(header(noon)), 2 * day);
  assert.equal(clock.isKnown(), true);
  pass(1_500);
  assert.equal(clock.now(), noon + 1_500);
});

test("a jump of the machine's clock changes nothing", () => {
  const { own, clock, pass } = open(noon);
  clock.learn(header(noon));
  own.wall += day;
  pass(10);
  assert.equal(clock.now(), noon + 10);
});

test("of headers that agree the one that is nearer counts; one that does not agree replaces the others", () => {
  const { clock, pass } = open(noon);
  clock.learn(header(noon + 900));
  assert.equal(clock.now(), noon, "cut to the second");
  pass(400);
  clock.learn(header(noon + 1_300));
  assert.equal(clock.now(), noon + 1_000, "so it is at least that");
  pass(300);
  clock.learn(header(noon + 1_600));
  assert.equal(clock.now(), noon + 1_300, "which this one does not contradict");
  clock.learn(header(noon - day));
  assert.equal(clock.now(), noon - day);
});

test("what is no date teaches nothing", () => {
  const { clock } = open(noon);
  for (const text of [undefined, null, "", "soon"]) assert.equal(clock.learn(text), 0);
  assert.equal(clock.isKnown(), false);
});
