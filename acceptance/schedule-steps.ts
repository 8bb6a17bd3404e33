// Steps of scenarios about scheduled prompts.
import type { InputOf, ScheduleRecord, registry } from "@hawser/contract";
import type { Calls } from "@hawser/testkit/caller.ts";

type Body = InputOf<(typeof registry)["create_scheduled_prompt"]>;

/** A time that no scenario reaches. */
export const later = "2100-01-31T09:00:00.000Z";

let hosts = 0;
export async function newHost(caller: Calls): Promise<string> {
  const { instance } = await caller.create_instance({ name: `host ${++hosts}` });
  return instance.instanceId;
}

/** A body that create_scheduled_prompt accepts. Its host is never connected. */
export async function bodyWith(caller: Calls, changes: Partial<Body> = {}): Promise<Body> {
  const base: Body = {
    prompt: "Say hello.",
    instanceIds: changes.instanceIds ?? [await newHost(caller)],
    frequency: "daily",
    startAt: later,
    ...(!("cloneRepo" in changes || "cloneUrl" in changes) && { directory: "/srv/code" }),
  };
  return { ...base, ...changes };
}

export const create = async (caller: Calls, changes: Partial<Body> = {}) =>
  caller.create_scheduled_prompt(await bodyWith(caller, changes));

/** Undefined if it is not listed. */
export async function read(caller: Calls, scheduleId: string): Promise<ScheduleRecord | undefined> {
  const { schedules } = await caller.list_scheduled_prompts({});
  return schedules.find((each) => each.scheduleId === scheduleId);
}
