// Scheduled prompts: the prompt, its target, its times, and the result of the last run.
import { z } from "zod";
import { InstanceId, ScheduleId, SessionId } from "../ids.ts";
import { Instant } from "../moments.ts";
import { Caller } from "./actor.ts";
import { AgentKind, FallbackEntry } from "./agent-kind.ts";

export const Frequency = z.enum(["never", "hourly", "daily", "weekly", "monthly"]);
export type Frequency = z.infer<typeof Frequency>;

/** One run of a schedule. */
export const ScheduleRun = z.strictObject({
  runAt: Instant.meta({ description: "When it was due." }),
  outcome: z
    .enum(["running", "succeeded", "failed", "needs_answer", "missed", "skipped"])
    .meta({ description: "needs_answer: its session waits for someone to answer a request." }),
  sessionId: SessionId.nullable().meta({ description: "The session it started, if any." }),
  failure: z.string().nullable(),
  passedOver: z
    .array(z.strictObject({ instanceId: InstanceId, reason: z.string() }))
    .meta({ description: "Hosts that could not run it, in the order tried." }),
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
    agentKind: AgentKind.nullable().meta({ description: "Null for the chosen host's default." }),
    providerId: z.string().nullable(),
    modelId: z.string().nullable(),
    useWorktree: z
      .boolean()
      .nullable()
      .meta({ description: "Null for a worktree if the target is a git repository." }),
    fallbackChain: z
      .array(FallbackEntry)
      .nullable()
      .meta({ description: "Null for the chosen host's own chain." }),
    frequency: Frequency,
    startAt: Instant,
    nextRunAt: Instant.nullable().meta({ description: "Null while paused and when finished." }),
    enabled: z.boolean(),
    status: z.enum(["scheduled", "paused", "finished"]),
    lastRun: ScheduleRun.nullable(),
    sessionCount: z.int().min(0).meta({ description: "Number of sessions it has started." }),
    createdBy: Caller,
    createdAt: Instant,
  })
  .meta({ id: "Schedule", description: "A prompt that starts new sessions at set times." });
export type ScheduleRecord = z.infer<typeof ScheduleRecord>;
