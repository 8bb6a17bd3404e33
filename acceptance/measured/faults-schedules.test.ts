// F10 and F12: schedules that are due at the same moment, while nodes with wrong clocks are killed and stopped.
// The long run, with 1,000 of them, is `npm run faults -- schedules`.
import assert from "node:assert/strict";
import { test } from "node:test";
import { check, runScheduleFaults } from "../faults/schedules.ts";
import { tell } from "../figures.ts";

test("F12: each schedule starts one session, whichever node dies, stops or has a wrong clock", async () => {
  const result = await runScheduleFaults({ schedules: 60, hosts: 4, stoppedSeconds: 20 });
  const { median, longest } = result.startedMs;
  tell(`60 schedules due at once: started after ${median} ms at the median, ${longest} ms at most`);
  assert.deepEqual(result.violations, []);
});

test("the check of such a run finds what is broken", () => {
  const good = {
    schedule_id: "one",
    runs: 1,
    outcomes: ["succeeded"],
    failures: [null],
    started_ms: 10,
    sessions: 1,
    prompts: 1,
  };
  const rulesOf = (row: object, schedules = 1) =>
    check([{ ...good, ...row }], schedules).map(({ rule }) => rule);
  assert.deepEqual(rulesOf({}), []);
  assert.deepEqual(rulesOf({ runs: 2 }), ["a schedule that is due once has one run"]);
  assert.deepEqual(rulesOf({ sessions: 2 }), ["a run starts one session"]);
  assert.deepEqual(rulesOf({ sessions: 0 }), ["a run starts one session"]);
  assert.deepEqual(rulesOf({ prompts: 2 }), ["a run sends its prompt once"]);
  assert.deepEqual(rulesOf({ outcomes: ["failed"] }), ["a run succeeds"]);
  assert.deepEqual(rulesOf({}, 2), ["every schedule is kept"]);
});
