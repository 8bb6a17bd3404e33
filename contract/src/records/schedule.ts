// Scheduled prompts: the prompt, its target, its times, and the result of the last run.
import { z } from "zod";
import { InstanceId, RunId, ScheduleId, SessionId } from "../ids.ts";
import { CreatedAt, Instant } from "../moments.ts";
import { Caller } from "./actor.ts";
import { AgentKind, Fallback, FallbackEntry } from "./agent-kind.ts";

export const Frequency = z
  .enum(["never", "hourly", "daily", "weekly", "monthly"])
  .meta({ description: "How often it runs after `startAt`; never: once." });
export type Frequency = z.infer<typeof Frequency>;

export const ScheduleRun = z
  .strictObject({
    runId: RunId,
    runAt: Instant.meta({ description: "When it was due, or when the event arrived." }),
    outcome: z.enum(["running", "succeeded", "failed", "needs_answer", "missed", "skipped"]).meta({
      description:
        "needs_answer: its session waits for someone to answer a request. missed: it was due while nothing could start it. skipped: an earlier run had not ended, or it was paused before the run started.",
    }),
    sessionId: SessionId.nullable().meta({ description: "The session it started, if any." }),
    failure: z
      .string()
      .nullable()
      .meta({ description: "Why it failed, why nothing was started, or what it waits for." }),
    passedOver: z
      .array(
        z.strictObject({
          instanceId: InstanceId,
          reason: z.string().meta({ description: "Why it was not used." }),
        }),
      )
      .meta({ description: "Hosts that could not run it, in the order tried." }),
    fallback: Fallback.nullable().meta({
      description: "Why its session has another kind than the preferred one; null if it does not.",
    }),
    startedAt: Instant.nullable().meta({ description: "When its session was started." }),
    endedAt: Instant.nullable().meta({ description: "Null while it has not ended." }),
    durationMs: z
      .int()
      .min(0)
      .nullable()
      .meta({ description: "From startedAt to endedAt; null if either is null." }),
    costUsd: z
      .number()
      .min(0)
      .nullable()
      .meta({ description: "What its session has cost, in US dollars; null if unknown." }),
  })
  .meta({ id: "ScheduleRun", description: "One run of a scheduled prompt or trigger." });
export type ScheduleRun = z.infer<typeof ScheduleRun>;

export const ScheduleRecord = z
  .strictObject({
    scheduleId: ScheduleId,
    name: z.string().nullable().meta({ description: "A name for people." }),
    prompt: z.string().meta({ description: "What each new session is asked to do." }),
    directory: z.string().nullable().meta({ description: "The directory to work in." }),
    cloneRepo: z.string().nullable().meta({ description: "The hosted repository to clone." }),
    cloneUrl: z.string().nullable().meta({ description: "The address to clone from." }),
    instanceIds: z.array(InstanceId).meta({ description: "Hosts, the preferred one first." }),
    agentKind: AgentKind.nullable().meta({ description: "Null for the chosen host's default." }),
    providerId: z.string().nullable().meta({ description: "Null for the kind's default." }),
    modelId: z.string().nullable().meta({ description: "Null for the kind's default." }),
    useWorktree: z
      .boolean()
      .nullable()
      .meta({ description: "Null for a worktree if the target is a git repository." }),
    fallbackChain: z
      .array(FallbackEntry)
      .nullable()
      .meta({ description: "Null for the chosen host's own chain." }),
    frequency: Frequency,
    startAt: Instant.meta({ description: "The time of the first run." }),
    nextRunAt: Instant.nullable().meta({ description: "Null while paused and when finished." }),
    enabled: z.boolean().meta({ description: "False while it is paused." }),
    status: z
      .enum(["scheduled", "paused", "finished"])
      .meta({ description: "finished: it will not run again." }),
    pauseReason: z
      .string()
      .nullable()
      .meta({ description: "Why the service paused it; null if it did not." }),
    lastRun: ScheduleRun.nullable().meta({ description: "Null if it never ran." }),
    sessionCount: z.int().min(0).meta({ description: "Number of sessions it has started." }),
    actsAs: Caller.meta({
      description:
        "Who created, changed or resumed it last. Its runs act with the key of that call, and with the permissions that the key has at the time of the run.",
    }),
    createdBy: Caller,
    createdAt: CreatedAt,
  })
  .meta({ id: "Schedule", description: "A prompt that starts new sessions at set times." });
export type ScheduleRecord = z.infer<typeof ScheduleRecord>;
