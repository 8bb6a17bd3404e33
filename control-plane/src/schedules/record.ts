// Schedules and runs as results show them.
import {
  formatId,
  type ScheduleRecord,
  type ScheduleRun,
  type TriggerRecord,
} from "@hawser/contract";
import type { RunRow, ScheduleRow, SharedRow } from "./store.ts";

export function scheduleRecord(row: ScheduleRow): ScheduleRecord {
  return {
    scheduleId: formatId("schedule", row.schedule_id),
    ...sharedFields(row),
    frequency: row.frequency,
    startAt: row.start_at,
    nextRunAt: row.next_run_at,
    status: statusOf(row),
  };
}

/** What the records of schedules and triggers have in common. */
export function sharedFields(
  row: SharedRow,
): Pick<ScheduleRecord, keyof ScheduleRecord & keyof TriggerRecord> {
  return {
    name: row.name,
    prompt: row.prompt,
    directory: row.directory,
    cloneRepo: row.clone_repo,
    cloneUrl: row.clone_url,
    instanceIds: row.instance_ids.map((id) => formatId("instance", id)),
    agentKind: row.agent_kind,
    providerId: row.provider_id,
    modelId: row.model_id,
    useWorktree: row.use_worktree,
    fallbackChain: row.fallback_chain,
    enabled: row.enabled,
    pauseReason: row.pause_reason,
    lastRun: row.run_id === null ? null : runRecord(row),
    sessionCount: row.session_count,
    actsAs: row.acts_as,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}

function statusOf({ enabled, next_run_at }: ScheduleRow): ScheduleRecord["status"] {
  if (!enabled) return "paused";
  return next_run_at === null ? "finished" : "scheduled";
}

export function runRecord(row: RunRow): ScheduleRun {
  const { started_at, ended_at } = row;
  return {
    runId: formatId("run", row.run_id),
    runAt: row.run_at,
    outcome: row.outcome,
    sessionId: row.session_id && formatId("session", row.session_id),
    failure: row.failure,
    passedOver: row.passed_over,
    fallback: row.fallback ?? null,
    startedAt: started_at,
    endedAt: ended_at,
    durationMs:
      started_at === null || ended_at === null
        ? null
        : Math.max(0, Date.parse(ended_at) - Date.parse(started_at)),
    costUsd: row.cost_usd,
  };
}
