// The SQL of schedules, and of reading their runs.
import type { AgentKind, Caller, FallbackEntry, Frequency, ScheduleRun } from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";
import { pausedSql, planSql, skippedSql } from "./plan.ts";

/** What a caller decides about the sessions of a schedule or trigger, as it is stored. */
export interface Template {
  name: string | null;
  prompt: string;
  directory: string | null;
  clone_repo: string | null;
  clone_url: string | null;
  instance_ids: string[];
  agent_kind: AgentKind | null;
  provider_id: string | null;
  model_id: string | null;
  use_worktree: boolean | null;
  fallback_chain: FallbackEntry[] | null;
}

/** What a caller decides about a schedule. */
export interface ScheduleChoice extends Template {
  frequency: Frequency;
  start_at: string;
}

export interface RunRow {
  run_id: string;
  run_at: string;
  outcome: ScheduleRun["outcome"];
  session_id: string | null;
  failure: string | null;
  passed_over: ScheduleRun["passedOver"];
  fallback: ScheduleRun["fallback"];
  cost_usd: number | null;
  started_at: string | null;
  ended_at: string | null;
}

interface TemplateRow extends Template {
  schedule_id: string;
  enabled: boolean;
  pause_reason: string | null;
  acts_as: Caller;
  created_by: Caller;
  created_at: string;
  session_count: number;
}

/** A schedule or trigger with its last run. */
export type SharedRow = TemplateRow & (RunRow | { [Column in keyof RunRow]: null });

export type ScheduleRow = SharedRow & ScheduleChoice & { next_run_at: string | null };

/** Columns of a run, for statements that read or insert rows of schedule_runs. */
const runColumns = `run_id, run_at, outcome, session_id, failure, passed_over, cost_usd, started_at, ended_at,
          (SELECT started.fallback FROM sessions started
            WHERE started.organization_id = schedule_runs.organization_id
              AND started.session_id = schedule_runs.session_id) AS fallback`;

/** The columns of a row that `lastRun` joins. */
export const withLastRun = `s.schedule_id, s.name, s.prompt, s.directory, s.clone_repo, s.clone_url, s.instance_ids,
          s.agent_kind, s.provider_id, s.model_id, s.use_worktree, s.fallback_chain, s.frequency, s.start_at,
          s.enabled, s.pause_reason, s.next_run_at, s.acts_as, s.created_by, s.created_at, s.session_count, r.*`;

export const lastRun = `LEFT JOIN LATERAL (
             SELECT ${runColumns} FROM schedule_runs
              WHERE organization_id = s.organization_id AND schedule_id = s.schedule_id
              ORDER BY run_id DESC LIMIT 1) r ON true`;

/** The row of a trigger is not shown as a schedule, and cannot be changed as one. */
const isSchedule = `frequency <> 'event'`;

/** The newest first. */
export const selectSchedules = statement<ScheduleRow>(
  `SELECT ${withLastRun} FROM schedules s ${lastRun}
    WHERE s.organization_id = $1 AND s.${isSchedule}
    ORDER BY s.schedule_id DESC`,
);

export const selectSchedule = statement<ScheduleRow>(
  `SELECT ${withLastRun} FROM schedules s ${lastRun}
    WHERE s.organization_id = $1 AND s.schedule_id = $2 AND s.${isSchedule}`,
);

export const selectTriggerId = statement<{ schedule_id: string }>(
  `SELECT schedule_id FROM triggers WHERE organization_id = $1 AND schedule_id = $2`,
);

/** Locks the schedule: nothing else changes it, and no time of it is claimed, before the transaction ends. */
export const lockSchedule = statement<{ schedule_id: string }>(
  `SELECT schedule_id FROM schedules
    WHERE organization_id = $1 AND schedule_id = $2 AND ${isSchedule} FOR UPDATE`,
);

/** Milliseconds are what callers see and what JavaScript can represent. */
const nowSql = `date_trunc('milliseconds', hawser_now())`;

export const selectClock = statement<{ time_zone: string; now: string }>(
  `SELECT time_zone, ${nowSql} AS now FROM organizations WHERE organization_id = $1`,
);

/** Locks the organization: of two calls that add to what is counted, the later one sees the earlier. */
export const lockClock = statement<{ time_zone: string; now: string }>(
  `SELECT time_zone, ${nowSql} AS now FROM organizations WHERE organization_id = $1 FOR NO KEY UPDATE`,
);

/** How many schedules and triggers there are, and how many bytes their prompts have; $2 is left out. */
export const countOthers = statement<{ schedules: number; prompt_bytes: number }>(
  `SELECT count(*) AS schedules, coalesce(sum(octet_length(prompt)), 0)::bigint AS prompt_bytes
     FROM schedules WHERE organization_id = $1 AND schedule_id IS DISTINCT FROM $2::uuid`,
);

/** Which of the instances $2 exist. */
export const selectInstances = statement<{ instance_id: string }>(
  `SELECT instance_id FROM instances
    WHERE organization_id = $1 AND instance_id = ANY ($2::uuid[]) AND deleted_at IS NULL`,
);

/** Whether a time of the schedule was claimed since its start. Runs that callers asked for do not count. */
export const selectHasRun = statement<{ has_run: boolean }>(
  `SELECT EXISTS (SELECT FROM schedule_runs r
                   WHERE r.organization_id = s.organization_id AND r.schedule_id = s.schedule_id
                     AND r.run_at >= s.start_at AND NOT (r.plan->>'isRequested')::boolean) AS has_run
     FROM schedules s WHERE s.organization_id = $1 AND s.schedule_id = $2`,
);

/** The keys of the hosts of a schedule, in their order, as `host_keys` has them. `$1` is the organization. */
export const hostKeysSql = (instanceIds: string) =>
  `(SELECT array_agg(i.host_key ORDER BY named.place)
             FROM unnest(${instanceIds}) WITH ORDINALITY AS named (instance_id, place)
             LEFT JOIN instances i ON i.organization_id = $1 AND i.instance_id = named.instance_id)`;

/** The values of a choice, from $3 on. */
export function valuesOf(
  choice: Template & { frequency: Frequency | "event"; start_at: string },
): unknown[] {
  const { fallback_chain: chain } = choice;
  return [
    choice.name,
    choice.prompt,
    choice.directory,
    choice.clone_repo,
    choice.clone_url,
    choice.instance_ids,
    choice.agent_kind,
    choice.provider_id,
    choice.model_id,
    choice.use_worktree,
    chain && JSON.stringify(chain),
    choice.frequency,
    choice.start_at,
  ];
}

/** $2 who creates it, $3 to $15 the choice, $16 the next run, $17 the caller's key. */
export const insertSchedule = statement<{ schedule_id: string }>(
  `INSERT INTO schedules (organization_id, created_by, acts_as, name, prompt, directory, clone_repo, clone_url,
                          instance_ids, agent_kind, provider_id, model_id, use_worktree, fallback_chain, frequency,
                          start_at, next_run_at, api_key_id, host_keys)
   VALUES ($1, $2, $2, $3, $4, $5, $6, $7, $8::uuid[], $9, $10, $11, $12, $13::jsonb, $14, $15, $16, $17,
           ${hostKeysSql("$8::uuid[]")})
   RETURNING schedule_id`,
);

/** $2 schedule, $3 to $15 the choice, $16 the next run, $17 the caller's key, $18 who that is. */
export const updateSchedule = statement(
  `UPDATE schedules
      SET name = $3, prompt = $4, directory = $5, clone_repo = $6, clone_url = $7, instance_ids = $8::uuid[],
          agent_kind = $9, provider_id = $10, model_id = $11, use_worktree = $12, fallback_chain = $13::jsonb,
          frequency = $14, start_at = $15, next_run_at = $16, api_key_id = $17, acts_as = $18,
          host_keys = ${hostKeysSql("$8::uuid[]")}
    WHERE organization_id = $1 AND schedule_id = $2`,
);

/** Runs that wait are skipped: when the trigger is resumed, their prompt and their key may be outdated. */
export const pauseSchedule = statement(
  `WITH paused AS (
     UPDATE schedules SET enabled = false, next_run_at = NULL, pause_reason = NULL
      WHERE organization_id = $1 AND schedule_id = $2 AND enabled
     RETURNING organization_id, schedule_id)
   UPDATE schedule_runs r SET ${skippedSql(pausedSql)}
     FROM paused
    WHERE r.organization_id = paused.organization_id AND r.schedule_id = paused.schedule_id AND r.step = 'wait'`,
);

/** $3 the next run, $4 the caller's key, $5 who that is. */
export const resumeSchedule = statement(
  `UPDATE schedules
      SET enabled = true, next_run_at = $3, pause_reason = NULL, failures_in_row = 0, api_key_id = $4, acts_as = $5,
          host_keys = ${hostKeysSql("schedules.instance_ids")}
    WHERE organization_id = $1 AND schedule_id = $2`,
);

export const deleteSchedule = statement<{ schedule_id: string }>(
  `DELETE FROM schedules WHERE organization_id = $1 AND schedule_id = $2 AND ${isSchedule}
   RETURNING schedule_id`,
);

export const selectUnendedRun = statement<{ run_at: string; outcome: string }>(
  `SELECT run_at, outcome FROM schedule_runs
    WHERE organization_id = $1 AND schedule_id = $2 AND step <> 'ended'
    ORDER BY run_id DESC LIMIT 1`,
);

/** $3 the caller's key. No row if a run is due at the same millisecond. */
export const insertRequestedRun = statement<RunRow>(
  `INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id)
   SELECT s.organization_id, s.schedule_id, ${nowSql}, ${planSql("s", true)}, $3
     FROM schedules s WHERE s.organization_id = $1 AND s.schedule_id = $2
   ON CONFLICT DO NOTHING
   RETURNING ${runColumns}`,
);

/** Runs before $3, the newest first, at most $4. */
export const selectRuns = statement<RunRow>(
  `SELECT ${runColumns} FROM schedule_runs
    WHERE organization_id = $1 AND schedule_id = $2 AND run_id < $3::uuid
    ORDER BY run_id DESC LIMIT $4`,
);

/** $2 the former key, $3 the new one, $4 its id as records show it. */
export const moveSchedulesToKey = statement(
  `UPDATE schedules
      SET api_key_id = $3,
          acts_as = CASE WHEN acts_as->>'type' = 'organization_key'
                         THEN jsonb_set(acts_as, '{id}', to_jsonb($4::text)) ELSE acts_as END
    WHERE organization_id = $1 AND api_key_id = $2`,
);

/**
 * Removes some at a time. Keeps the last run of each schedule, and the run of a schedule that runs once, which
 * shows that it has run.
 */
export const deleteOldRuns = systemStatement<{ run_id: string }>(
  "remove old runs of schedules",
  `DELETE FROM schedule_runs
    WHERE (organization_id, schedule_id, run_at) IN (
          SELECT r.organization_id, r.schedule_id, r.run_at
            FROM schedule_runs r
            JOIN schedules s ON s.organization_id = r.organization_id AND s.schedule_id = r.schedule_id
           WHERE r.created_at < hawser_now() - interval '400 days' AND r.step = 'ended'
             AND (s.frequency <> 'never' OR (r.plan->>'isRequested')::boolean)
             AND EXISTS (SELECT FROM schedule_runs later
                          WHERE later.organization_id = r.organization_id
                            AND later.schedule_id = r.schedule_id AND later.run_id > r.run_id)
           LIMIT 1000)
   RETURNING run_id`,
);
