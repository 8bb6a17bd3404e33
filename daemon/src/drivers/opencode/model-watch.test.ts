// When a turn gives up waiting for its model, with a mocked clock.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { LiveEvent } from "./frames.ts";
import { defaultLimits, watchModel } from "./model-watch.ts";

const second = 1_000;
const minute = 60 * second;

/** Watches the model of a turn that starts now. */
function openWatch(t: TestContext) {
  t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: 1_700_000_000_000 });
  const reasons: string[] = [];
  const state = { isWorking: false };
  const watch = watchModel(
    defaultLimits,
    () => state.isWorking,
    ({ reason }) => reasons.push(reason),
  );
  watch.start();
  return { watch, reasons, state, pass: (ms: number) => t.mock.timers.tick(ms) };
}

const retry = (attempt: number, waitMs: number, sessionID = "root"): LiveEvent => {
  const next = Date.now() + waitMs;
  return {
    type: "status",
    sessionID,
    status: "retry",
    retry: { attempt, message: "Too Many Requests", next },
  };
};

const part = (type: string, sessionID = "root"): LiveEvent => ({
  type: "sync",
  event: {
    id: "e",
    type: "message.part.updated.1",
    seq: 1,
    sessionID,
    data: { part: { id: "p", messageID: "m", sessionID, type } },
  },
});

test("a turn waits for retries as long as the next one is within two minutes of the first failure", (t) => {
  const { watch, reasons, pass } = openWatch(t);
  // As opencode waits when the service names no time.
  const waits = [2, 4, 8, 16, 30, 30, 30, 30].map((seconds) => seconds * second);
  let waited = 0;
  for (const [index, wait] of waits.entries()) {
    watch.onEvent(retry(index + 1, wait));
    if (reasons.length > 0) break;
    pass(wait);
    waited += wait;
  }
  assert.equal(waited, 120 * second);
  assert.equal(reasons.length, 1);
  assert.match(reasons[0]!, /rate limit.*in a few minutes.*asked 8 times/);
});

test("a turn gives up at once if the next retry is too late, and names the time of the retry", (t) => {
  const { watch, reasons } = openWatch(t);
  watch.onEvent(retry(1, 3 * minute));
  assert.match(reasons[0] ?? "", /Prompt again after 2023-11-14T22:16:20Z.*asked once/);
});

test("only a complete answer ends a series of failures", (t) => {
  const { watch, reasons, pass } = openWatch(t);
  for (const [between, expected] of [
    ["step-finish", 0],
    ["text", 1],
  ] as const) {
    reasons.length = 0;
    watch.start();
    watch.onEvent(retry(1, 30 * second));
    pass(100 * second);
    watch.onEvent(part(between));
    watch.onEvent(retry(2, 30 * second));
    assert.equal(reasons.length, expected, between);
  }
});

test("failures are counted separately for each agent and each turn", (t) => {
  const { watch, reasons, pass } = openWatch(t);
  watch.onEvent(retry(1, 30 * second));
  pass(100 * second);
  watch.onEvent(retry(1, 30 * second, "child"));
  watch.onEvent(part("step-finish", "child"));
  assert.deepEqual(reasons, []);
  watch.start();
  watch.onEvent(retry(1, 30 * second));
  assert.deepEqual(reasons, []);
});

test("silence is counted from the last event, and not while a tool runs or a person is asked", (t) => {
  const { watch, reasons, state, pass } = openWatch(t);
  pass(4 * minute);
  watch.onEvent(part("text"));
  pass(4 * minute);
  assert.deepEqual(reasons, []);
  state.isWorking = true;
  pass(minute);
  pass(20 * minute);
  state.isWorking = false;
  pass(4 * minute);
  assert.deepEqual(reasons, []);
  pass(5 * minute);
  assert.equal(reasons.length, 1);
  assert.match(reasons[0]!, /said nothing for \d+ seconds/);
});

test("a retry does not end the silence, and a turn that has ended is not watched", (t) => {
  const { watch, reasons, pass } = openWatch(t);
  pass(4 * minute);
  watch.onEvent(retry(1, 2 * second));
  pass(minute);
  assert.equal(reasons.length, 1);
  watch.start();
  watch.stop();
  pass(20 * minute);
  assert.equal(reasons.length, 1);
});
