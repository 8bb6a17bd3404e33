// Scheduled prompts: seeing, making, changing, pausing and deleting them.
import { z } from "zod";
import { action } from "../action.ts";
import { CloneUrl, HostedRepository } from "../clone-source.ts";
import { atMostOneOf, exactlyOneOf, objectTo } from "../exactly-one.ts";
import { InstanceId, ScheduleId } from "../ids.ts";
import { DateTime } from "../moments.ts";
import { AgentKind, FallbackEntryInput } from "../records/agent-kind.ts";
import { Frequency, ScheduleRecord } from "../records/schedule.ts";
import { AbsolutePath, text } from "../text.ts";

const targets = ["directory", "cloneRepo", "cloneUrl"];

const target = {
  directory: AbsolutePath.nullable().optional(),
  cloneRepo: HostedRepository.nullable().optional(),
  cloneUrl: CloneUrl.nullable().optional(),
};

const hosts = z.array(InstanceId).min(1).meta({
  description: "Hosts in order of preference; the first that can be reached takes the run.",
});

const worktreeChoice = z
  .boolean()
  .meta({ description: "When left out: true in a git repository, else false." })
  .optional();

const chain = z
  .array(FallbackEntryInput)
  .meta({ description: "Used in place of the host's own chain." });

export const scheduleActions = {
  list_scheduled_prompts: action({
    summary: "List the organization's scheduled prompts.",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ schedules: z.array(ScheduleRecord) }),
    refusals: [],
  }),

  create_scheduled_prompt: action({
    summary: "Schedule a prompt that starts a new session each time it is due.",
    details:
      "Give exactly one of `directory`, `cloneRepo` and `cloneUrl`. A directory's runs get a worktree each; the other two are cloned anew for every run. With frequency never it runs once. A first run in the past means the next time counted from it, or at once for never.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z
      .strictObject({
        prompt: text({ min: 1 }),
        instanceIds: hosts,
        frequency: Frequency,
        startAt: DateTime,
        name: text({ max: 120 }).optional(),
        ...target,
        agentKind: AgentKind.meta({ description: "The host's default when left out." }).optional(),
        providerId: z.string().optional(),
        modelId: z.string().optional(),
        useWorktree: worktreeChoice,
        fallbackChain: chain.optional(),
      })
      .check(exactlyOneOf(...targets)),
    result: ScheduleRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  update_scheduled_prompt: action({
    summary: "Change a scheduled prompt; fields left out keep their value.",
    details:
      "A new target takes the place of the former one, and one target must remain. The next run is computed anew only when `frequency` or `startAt` is given.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z
      .strictObject({
        scheduleId: ScheduleId,
        name: text({ max: 120 }).nullable().optional(),
        prompt: text({ min: 1 }).optional(),
        ...target,
        instanceIds: hosts.optional(),
        agentKind: AgentKind.nullable().optional(),
        providerId: z.string().nullable().optional(),
        modelId: z.string().nullable().optional(),
        useWorktree: worktreeChoice,
        fallbackChain: chain.nullable().optional(),
        frequency: Frequency.optional(),
        startAt: DateTime.optional(),
      })
      .check(atMostOneOf(...targets))
      // Whether one target is left otherwise depends on the stored schedule.
      .check((payload) => {
        const { directory, cloneRepo, cloneUrl } = payload.value;
        if (directory === null && cloneRepo === null && cloneUrl === null) {
          objectTo(
            payload,
            targets,
            "must not be null together with the other targets, because one must remain",
          );
        }
      }),
    result: ScheduleRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  set_scheduled_prompt_enabled: action({
    summary: "Pause a scheduled prompt, or let it run again.",
    details: "Runs missed while paused are not made up for.",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ scheduleId: ScheduleId, enabled: z.boolean() }),
    result: ScheduleRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  delete_scheduled_prompt: action({
    summary: "Delete a scheduled prompt; the sessions it has spawned stay.",
    permission: "sessions:edit",
    effect: "destroys",
    reach: "records",
    input: z.strictObject({ scheduleId: ScheduleId }),
    result: z.strictObject({ scheduleId: ScheduleId, deleted: z.literal(true) }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
