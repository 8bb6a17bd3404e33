// Scheduled prompts: what to tell an agent, where, how often, and how the last run went.
import { z } from "zod";
import { InstanceId, ScheduleId, SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { Caller } from "./actor.ts";
import { AgentKind, FallbackEntry } from "./agent-kind.ts";

export const Frequency = z.enum(["never", "hourly", "daily", "weekly", "monthly"]);
export type Frequency = z.infer<typeof Frequency>;

/** One run of a schedule. */
export const ScheduleRun = z.strictObject({
  runAt: Instant.meta({ description: "The time it was due." }),
  outcome: z
    .enum(["running", "succeeded", "failed", "needs_answer", "missed", "skipped"])
    .meta({ description: "needs_answer: its session waits for someone to answer a request." }),
  sessionId: SessionId.nullable().meta({ description: "The session it spawned, if any." }),
  failure: z.string().nullable(),
  passedOver: z
    .array(z.strictObject({ instanceId: InstanceId, reason: z.string() }))
    .meta({ description: "The hosts that could not take it, in the order tried." }),
});
export type ScheduleRun = z.infer<typeof ScheduleRun>;

export const ScheduleRecord = z
  .strictObject({
    scheduleId: ScheduleId,
    name: z.string().nullable(),
    prompt: z.string(),
    directory: z.string().nullable(),
    cloneRepo: z.string().nullable(),
    cloneUrl: z.string().nullable(),
    instanceIds: z.array(InstanceId).meta({ description: "Hosts, the preferred one first." }),
    agentKind: AgentKind.nullable().meta({ description: "Null: the chosen host's default." }),
    providerId: z.string().nullable(),
    modelId: z.string().nullable(),
    useWorktree: z
      .boolean()
      .nullable()
      .meta({ description: "Null: a worktree wherever the target is a git repository." }),
    fallbackChain: z
      .array(FallbackEntry)
      .nullable()
      .meta({ description: "Null: the chosen host's own chain." }),
    frequency: Frequency,
    startAt: Instant,
    nextRunAt: Instant.nullable().meta({ description: "Null while paused and once finished." }),
    enabled: z.boolean(),
    status: z.enum(["scheduled", "paused", "finished"]),
    lastRun: ScheduleRun.nullable(),
    sessionCount: z.int().min(0).meta({ description: "How many sessions it has spawned." }),
    createdBy: Caller,
    createdAt: Instant,
  })
  .meta({ id: "Schedule", description: "A prompt that starts new sessions at set times." });
export type ScheduleRecord = z.infer<typeof ScheduleRecord>;
