import assert from "node:assert/strict";
import { test } from "node:test";
import { createThrottle } from "./throttle.ts";

test("4.1 Changes: what is asked for often runs at once, and then at most once in a time", () => {
  let now = 0;
  let waiting: { at: number; run: () => void } | undefined;
  const ran: number[] = [];
  const throttle = createThrottle(2_000, () => void ran.push(now), {
    now: () => now,
    later(ms, run) {
      waiting = { at: now + ms, run };
      return () => (waiting = undefined);
    },
  });
  const pass = (to: number) => {
    const due = waiting;
    if (due && due.at <= to) {
      now = due.at;
      waiting = undefined;
      due.run();
    }
    now = to;
  };
  throttle.ask();
  for (const at of [100, 500, 1_900]) {
    pass(at);
    throttle.ask();
  }
  pass(2_500);
  assert.deepEqual(ran, [0, 2_000]);
  throttle.ask();
  throttle.stop();
  pass(9_000);
  throttle.ask();
  assert.deepEqual(ran, [0, 2_000, 9_000]);
});
