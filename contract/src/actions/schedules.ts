// Scheduled prompts: listing, creating, changing, pausing, running and deleting them, and their runs.
import { z } from "zod";
import { action } from "../action.ts";
import { atMostOneOf, exactlyOneOf, objectTo } from "../exactly-one.ts";
import { ScheduleId, TriggerId } from "../ids.ts";
import { DateTime, Instant } from "../moments.ts";
import { Cursor, NextCursor, limit } from "../pages.ts";
import { AgentKind } from "../records/agent-kind.ts";
import { Frequency, ScheduleRecord, ScheduleRun } from "../records/schedule.ts";
import {
  chain,
  hosts,
  model,
  name,
  prompt,
  target,
  targets,
  template,
  worktreeChoice,
} from "../schedule-template.ts";

export const scheduleActions = {
  list_scheduled_prompts: action({
    summary: "List the organization's scheduled prompts.",
    group: "schedules",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z.strictObject({}),
    result: z.strictObject({ schedules: z.array(ScheduleRecord) }),
    refusals: [],
    closedToAgents: true,
  }),

  create_scheduled_prompt: action({
    summary: "Schedule a prompt that starts a new session each time it is due.",
    details:
      "Give exactly one of `directory`, `cloneRepo` and `cloneUrl`; each run has its own worktree or clone. A start in the past means the next regular time, or now for frequency never. Runs act with the calling key.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    shownBy: "list_scheduled_prompts",
    input: z
      .strictObject({
        prompt,
        instanceIds: hosts,
        frequency: Frequency,
        startAt: DateTime,
        ...template,
      })
      .check(exactlyOneOf(...targets)),
    result: ScheduleRecord,
    refusals: ["not_found", "limit_reached"],
    closedToAgents: true,
  }),

  update_scheduled_prompt: action({
    summary: "Change a scheduled prompt; omitted fields keep their value.",
    details:
      "A new target replaces the old one, and one target must remain. The next run is recomputed only if `frequency` or `startAt` is set. Later runs act with the calling key.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    shownBy: "list_scheduled_prompts",
    input: z
      .strictObject({
        scheduleId: ScheduleId,
        name: name.nullable().optional(),
        prompt: prompt.optional(),
        ...target,
        instanceIds: hosts.optional(),
        agentKind: AgentKind.nullable().optional(),
        providerId: model.providerId.unwrap().nullable().optional(),
        modelId: model.modelId.unwrap().nullable().optional(),
        useWorktree: worktreeChoice,
        fallbackChain: chain.nullable().optional(),
        frequency: Frequency.optional(),
        startAt: DateTime.optional(),
      })
      .check(atMostOneOf(...targets))
      // In all other cases the stored schedule decides whether a target remains.
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
    refusals: ["not_found", "limit_reached"],
    closedToAgents: true,
  }),

  set_scheduled_prompt_enabled: action({
    summary: "Pause a scheduled prompt, or resume it.",
    details:
      "Times that pass during the pause are left out. Resumed runs act with the calling key.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    idempotent: true,
    reach: "records",
    input: z.strictObject({
      scheduleId: ScheduleId,
      enabled: z.boolean().meta({ description: "False pauses it." }),
    }),
    result: ScheduleRecord,
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  delete_scheduled_prompt: action({
    summary: "Delete a scheduled prompt; the sessions it started stay.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "destroys",
    idempotent: true,
    reach: "records",
    input: z.strictObject({ scheduleId: ScheduleId }),
    result: z.strictObject({
      scheduleId: ScheduleId,
      deleted: z.literal(true).meta({ description: "Always true." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  preview_scheduled_prompt: action({
    summary: "List the next ten times of a scheduled prompt, or of a frequency and a start.",
    details:
      "Give `scheduleId`, or `frequency` and `startAt`. A paused one is shown as if resumed now.",
    group: "schedules",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z
      .strictObject({
        scheduleId: ScheduleId.optional(),
        frequency: Frequency.optional(),
        startAt: DateTime.optional(),
      })
      .check((payload) => {
        const { scheduleId, frequency, startAt } = payload.value;
        const rule = "send either scheduleId, or frequency and startAt";
        const missing = Object.entries({ frequency, startAt }).flatMap(([field, value]) =>
          value === undefined ? [field] : [],
        );
        if (scheduleId === undefined) objectTo(payload, missing, `is missing: ${rule}`);
        else if (missing.length < 2) objectTo(payload, ["scheduleId"], `is one too many: ${rule}`);
      }),
    result: z.strictObject({
      timeZone: z.string().meta({ description: "The organization's, in which days are counted." }),
      runs: z.array(Instant).meta({ description: "At most ten; empty if it has finished." }),
    }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),

  run_scheduled_prompt_now: action({
    summary: "Run a scheduled prompt once, now, even if it is paused.",
    details:
      "Acts with the calling key. The next regular time stays. list_schedule_runs shows how the run ends.",
    group: "schedules",
    permission: "sessions:edit",
    effect: "changes",
    reach: "records",
    input: z.strictObject({ scheduleId: ScheduleId }),
    result: ScheduleRun,
    refusals: ["not_found", "schedule_running"],
    closedToAgents: true,
  }),

  list_schedule_runs: action({
    summary: "Page through the runs of a scheduled prompt or trigger, the newest first.",
    details: "Give `scheduleId` or `triggerId`.",
    group: "schedules",
    permission: "sessions:view",
    effect: "reads",
    reach: "records",
    input: z
      .strictObject({
        scheduleId: ScheduleId.optional(),
        triggerId: TriggerId.optional(),
        cursor: Cursor.optional(),
        limit: limit({ max: 200, default: 50 }),
      })
      .check(exactlyOneOf("scheduleId", "triggerId")),
    result: z.strictObject({ runs: z.array(ScheduleRun), nextCursor: NextCursor }),
    refusals: ["not_found"],
    closedToAgents: true,
  }),
};
