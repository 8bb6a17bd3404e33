// A run is continued by another node if its node dies or stops, at any moment: one session, one prompt.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { Refusal } from "@hawser/contract";
import {
  assertFiredOnce,
  neverReturns,
  openFiringBed,
  prompted,
  started,
  type FiringBed,
} from "@hawser/testkit/firing-bed.ts";

let beds: FiringBed;

before(async () => {
  beds = await openFiringBed();
});
after(() => beds[Symbol.asyncDispose]());
beforeEach(() => beds.clear());

const signal = () => Promise.withResolvers<void>();

const moments = [
  ["start_session", "before it asked for the session"],
  ["start_session", "after it got the session"],
  ["send_prompt", "before it sent the prompt"],
  ["send_prompt", "after it sent the prompt"],
] as const;

for (const [at, moment] of moments) {
  test(`a run whose node died ${moment} is finished by another: one session, one prompt`, async () => {
    const scheduleId = await beds.addSchedule();
    const reached = signal();
    const dying = beds.addSweep(async (action, dispatch) => {
      if (action === at && moment.startsWith("before")) {
        reached.resolve();
        return neverReturns();
      }
      const answer = await dispatch();
      if (action !== at) return answer;
      reached.resolve();
      return neverReturns();
    });
    await dying.claim();
    await dying.pickUp();
    await reached.promise;
    dying[Symbol.dispose]();
    const other = beds.addSweep();
    await other.fire();
    assert.equal((await beds.runsOf(scheduleId))[0]!.fence, 1, "its lease protects it");
    await beds.endLeases();
    await other.fire();
    await assertFiredOnce(beds, scheduleId);
    assert.equal((await beds.runsOf(scheduleId))[0]!.fence, 2);
  });
}

for (const command of ["start_session", "send_prompt"] as const) {
  test(`a node that is frozen while it waits for the answer to ${command} changes no row when it continues`, async () => {
    const scheduleId = await beds.addSchedule();
    const reached = signal();
    const woken = signal();
    const answer = command === "start_session" ? started : prompted;
    let calls = 0;
    beds.bed.host[command] = async () => {
      if (++calls > 1) return answer;
      reached.resolve();
      await woken.promise;
      return answer;
    };
    const stopped = beds.addSweep();
    await stopped.claim();
    await stopped.pickUp();
    await reached.promise;
    await beds.endLeases();
    await beds.addSweep().fire();
    await assertFiredOnce(beds, scheduleId);
    const before = await beds.runsOf(scheduleId);
    woken.resolve();
    await stopped.settled();
    stopped[Symbol.dispose]();
    await assertFiredOnce(beds, scheduleId);
    assert.deepEqual(await beds.runsOf(scheduleId), before);
  });
}

test("a node that wakes up with a refusal does not end the run of the node that replaced it", async () => {
  const scheduleId = await beds.addSchedule();
  const [reached, woken, asked] = [signal(), signal(), signal()];
  const answer = Promise.withResolvers<typeof started>();
  beds.bed.host.start_session = () => {
    asked.resolve();
    return answer.promise;
  };
  const stopped = beds.addSweep(async () => {
    reached.resolve();
    await woken.promise;
    return { refusal: new Refusal("host_refused", "The host was busy.") };
  });
  await stopped.claim();
  await stopped.pickUp();
  await reached.promise;
  await beds.endLeases();
  const other = beds.addSweep();
  await other.pickUp();
  await asked.promise;
  woken.resolve();
  await stopped.settled();
  stopped[Symbol.dispose]();
  const [run] = await beds.runsOf(scheduleId);
  assert.deepEqual([run!.step, run!.outcome, run!.passed_over], ["start", "running", []]);
  answer.resolve(started);
  await other.settled();
  await assertFiredOnce(beds, scheduleId);
});

test("the node that works on a run keeps its lease", async () => {
  const scheduleId = await beds.addSchedule();
  const answer = Promise.withResolvers<typeof started>();
  const reached = signal();
  beds.bed.host.start_session = () => {
    reached.resolve();
    return answer.promise;
  };
  const busy = beds.addSweep();
  await busy.claim();
  await busy.pickUp();
  await reached.promise;
  await beds.bed.sql(`UPDATE schedule_runs SET lease_until = hawser_now() + interval '5 seconds'`);
  const deadline = Date.now() + 10_000;
  for (;;) {
    const [row] = await beds.bed.sql<{ seconds: number }>(
      `SELECT extract(epoch FROM lease_until - hawser_now())::float8 AS seconds FROM schedule_runs`,
    );
    if (row!.seconds > 8) break;
    assert.ok(Date.now() < deadline, "the lease was renewed");
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  answer.resolve(started);
  await busy.settled();
  await assertFiredOnce(beds, scheduleId);
});
