// Steps of scenarios about scheduled prompts that run: create one that is due in a moment, make its next time come,
// and wait for its runs.
import assert from "node:assert/strict";
import { parseId, type ScheduleRecord, type ScheduleRun } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";
import type { TestHost } from "@hawser/testkit/host.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import type { World } from "@hawser/testkit/world.ts";
import { until } from "./scenario.ts";
import { scripted } from "./session-steps.ts";

type Input = Partial<Parameters<Calls["create_scheduled_prompt"]>[0]>;

/** A prompt to which the model answers with one line. */
export const briefly = scripted("Look around.", { text: "All is well." });

export const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();

/** Schedules a prompt in the host's repository, due in a second. */
export function schedule(
  caller: Calls,
  host: TestHost,
  input: Input = {},
): Promise<ScheduleRecord> {
  const hasTarget = input.cloneUrl !== undefined || input.cloneRepo !== undefined;
  return caller.create_scheduled_prompt({
    prompt: briefly,
    instanceIds: [host.instanceId],
    frequency: "hourly",
    startAt: inSeconds(1),
    ...(!hasTarget && { directory: host.repository }),
    ...input,
  });
}

/** Lets the next time of a schedule come now. */
export async function makeDue(world: World, scheduleId: string): Promise<void> {
  await ownerSql(
    world.database.url,
    `UPDATE schedules SET next_run_at = date_trunc('milliseconds', hawser_now())
      WHERE schedule_id = $1 AND next_run_at IS NOT NULL`,
    [parseId("schedule", scheduleId)],
  );
}

/** Lets this much time pass for the runs of a schedule. */
export async function passMinutes(
  world: World,
  scheduleId: string,
  minutes: number,
): Promise<void> {
  await ownerSql(
    world.database.url,
    `UPDATE schedule_runs SET created_at = created_at - make_interval(mins => $2), try_at = hawser_now()
      WHERE schedule_id = $1 AND step <> 'ended'`,
    [parseId("schedule", scheduleId), minutes],
  );
}

export async function scheduleOf(caller: Calls, scheduleId: string): Promise<ScheduleRecord> {
  const { schedules } = await caller.list_scheduled_prompts({});
  const found = schedules.find((each) => each.scheduleId === scheduleId);
  assert.ok(found, "the schedule is listed");
  return found;
}

/** Waits until the newest of `count` runs has ended, and returns it. */
export async function untilEnded(
  caller: Calls,
  scheduleId: string,
  count = 1,
): Promise<ScheduleRun> {
  const { runs } = await until(
    `run ${count} ends`,
    90_000,
    () => caller.list_schedule_runs({ scheduleId }),
    (listed) => listed.runs.length === count && listed.runs[0]!.endedAt !== null,
  );
  return runs[0]!;
}

/** The run has ended well, and its session. */
export async function untilSucceeded(caller: Calls, scheduleId: string, count = 1) {
  const run = await untilEnded(caller, scheduleId, count);
  assert.equal(run.outcome, "succeeded", JSON.stringify(run));
  return { run, session: await caller.get_session_summary({ sessionId: run.sessionId! }) };
}

/** The sessions that a schedule has started, the newest first. */
export async function sessionsOf(caller: Calls, scheduleId: string) {
  const { sessions } = await caller.list_sessions({ limit: 200 });
  return sessions.filter(({ startedBy }) => startedBy.id === scheduleId);
}

/** Waits until a time that is due after everything before has been run: the sweeps have seen it all. */
export async function untilSwept(caller: Calls, host: TestHost, startAt: string): Promise<void> {
  const { scheduleId } = await schedule(caller, host, { frequency: "never", startAt });
  await untilEnded(caller, scheduleId);
}
