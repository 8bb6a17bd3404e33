// The SQL of watching the sessions of runs, and of ending runs.
import type { TurnOutcome } from "@hawser/contract";
import { systemStatement } from "../postgres/statement.ts";
import { endedPlanSql } from "./plan.ts";
import { hasPassedSql, sessionStateSql, type SessionState } from "./run-store.ts";

/** A schedule is paused after this many failed runs in a row. */
const mostFailures = 5;

/** A run whose turn was started, with its session; the fields of a deleted session are null. */
export interface WatchedRow extends Partial<Nullable<SessionState>> {
  organization_id: string;
  schedule_id: string;
  run_id: string;
  outcome: "running" | "needs_answer";
  turn_id: string;
  watched_seconds: number;
  session_turn_id: string | null;
  /** Whether the run's turn waits for another one; null if the session was deleted. */
  is_queued: boolean | null;
  turn_outcome: TurnOutcome | null;
  /** Whether another session is to continue the turn, or why none does; null if neither. */
  continuation: { isUnderWay: boolean; problem: string | null } | null;
  cost_usd: number | null;
  /** How long the host has been away; null if it was never seen. */
  away_seconds: number | null;
}

type Nullable<T> = { [Key in keyof T]: T[Key] | null };

/** $1 limit. Sets when each is looked at next, so that the nodes share them. */
export const watchRuns = systemStatement<WatchedRow>(
  "read the sessions of the runs of schedules that are under way",
  `WITH due AS MATERIALIZED (
     SELECT organization_id, schedule_id, run_at FROM schedule_runs
      WHERE step = 'watch' AND ${hasPassedSql("try_at")}
      ORDER BY try_at LIMIT $1 FOR UPDATE SKIP LOCKED),
   watched AS (
     UPDATE schedule_runs r
        SET try_at = hawser_now() + greatest(interval '1 second', least(interval '15 seconds',
                       (hawser_now() - r.started_at) / 20))
                     * CASE WHEN r.outcome = 'needs_answer' THEN 3 ELSE 1 END
       FROM due
      WHERE r.organization_id = due.organization_id AND r.schedule_id = due.schedule_id AND r.run_at = due.run_at
     RETURNING r.organization_id, r.schedule_id, r.run_id, r.outcome, r.session_id, r.turn_id, r.started_at, r.cost_usd)
   SELECT w.organization_id, w.schedule_id, w.run_id, w.outcome, w.turn_id,
          extract(epoch FROM hawser_now() - w.started_at)::float8 AS watched_seconds,
          ${sessionStateSql}, s.turn_id AS session_turn_id,
          w.turn_id = ANY (s.queued_turns) AS is_queued, s.turn_outcome,
          -- A run whose turn was continued has a cost from before that.
          coalesce(w.cost_usd + s.cost_usd, s.cost_usd, w.cost_usd) AS cost_usd,
          CASE WHEN c.turn_id IS NOT NULL THEN
            jsonb_build_object('isUnderWay', c.step <> 'ended', 'problem', c.problem) END AS continuation,
          extract(epoch FROM hawser_now() - seen.last_seen_at)::float8 AS away_seconds
     FROM watched w
     LEFT JOIN sessions s
       ON s.organization_id = w.organization_id AND s.session_id = w.session_id AND s.deleted_at IS NULL
     LEFT JOIN host_sightings seen
       ON seen.organization_id = s.organization_id AND seen.instance_id = s.instance_id
     LEFT JOIN turn_continuations c
       ON c.organization_id = s.organization_id AND c.session_id = s.session_id AND c.turn_id = w.turn_id`,
);

/** $1 organizations, $2 schedules, $3 runs, $4 outcomes. */
export const setOutcomes = systemStatement(
  "record whether the runs of schedules wait for an answer",
  `UPDATE schedule_runs r SET outcome = seen.outcome
     FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) AS seen (organization_id, schedule_id, run_id, outcome)
    WHERE r.organization_id = seen.organization_id AND r.schedule_id = seen.schedule_id
      AND r.run_id = seen.run_id AND r.step = 'watch'`,
);

/** The end of a run, as JSON. */
export interface RunEnd {
  organization_id: string;
  schedule_id: string;
  run_id: string;
  /** Null for a run whose session is watched: what its session shows is the same on every node. */
  fence: number | null;
  outcome: "succeeded" | "failed";
  failure: string | null;
  /** Whether it failed because no host was connected. */
  is_host_away: boolean;
  cost_usd: number | null;
  /** Why the schedule is paused, unless it acts with another key by now; null if it continues. */
  pause: string | null;
}

const tooManyFailures = `'The last ${mostFailures} runs failed. list_schedule_runs has their reasons. Fix the cause, then call '
                        || CASE WHEN frequency = 'event' THEN 'update_trigger with enabled true.'
                                ELSE 'set_scheduled_prompt_enabled.' END`;

const countsAsFailed = `ended.outcome = 'failed' AND NOT ended.is_requested
              AND ended.api_key_id = locked.api_key_id AND NOT (ended.is_host_away AND locked.frequency = 'event')`;

/**
 * $1 ends. Counts the failures of the schedules, and pauses those that must not continue. A run that a caller
 * asked for does not count: it is how people find out what is wrong. Nor does one with a former key, which shows
 * nothing about the present one, nor one of a trigger that found no host connected: five events may arrive in one
 * moment, so that a short outage would pause the trigger. Several runs of a trigger may end together:
 * one that succeeded makes the count 0. A run whose schedule is locked is left for the next time, so that it does
 * not keep the others from ending.
 */
export const endRuns = systemStatement(
  "end the runs of schedules, and pause the schedules that cannot run",
  `WITH ends AS MATERIALIZED (
     SELECT * FROM jsonb_to_recordset($1::jsonb) AS e (
       organization_id uuid, schedule_id uuid, run_id uuid, fence bigint, outcome text, failure text,
       is_host_away boolean, cost_usd double precision, pause text)),
   locked AS MATERIALIZED (
     SELECT s.organization_id, s.schedule_id, s.enabled, s.api_key_id, s.failures_in_row, s.frequency
       FROM schedules s
      WHERE (s.organization_id, s.schedule_id) IN (SELECT organization_id, schedule_id FROM ends)
      ORDER BY s.organization_id, s.schedule_id FOR NO KEY UPDATE OF s SKIP LOCKED),
   ended AS (
     UPDATE schedule_runs r
        SET step = 'ended', outcome = ends.outcome, failure = ends.failure, cost_usd = ends.cost_usd,
            plan = ${endedPlanSql("r.plan")}, ended_at = hawser_now(), asked = false, holder = NULL
       FROM ends JOIN locked ON locked.organization_id = ends.organization_id AND locked.schedule_id = ends.schedule_id
      WHERE r.organization_id = ends.organization_id AND r.schedule_id = ends.schedule_id AND r.run_id = ends.run_id
        AND CASE WHEN ends.fence IS NULL THEN r.step = 'watch'
                 ELSE r.step IN ('start', 'prompt') AND r.fence = ends.fence END
     RETURNING r.organization_id, r.schedule_id, r.api_key_id, r.outcome, ends.pause, ends.is_host_away,
               (r.plan ->> 'isRequested')::boolean AS is_requested),
   counted AS (
     SELECT organization_id, schedule_id, locked.enabled, locked.frequency,
            count(*) FILTER (WHERE ${countsAsFailed}) AS failed,
            CASE WHEN bool_or(ended.outcome <> 'failed') THEN 0
                 ELSE locked.failures_in_row + count(*) FILTER (WHERE ${countsAsFailed}) END AS failures,
            min(ended.pause) FILTER (WHERE ended.api_key_id = locked.api_key_id) AS pause
       FROM ended JOIN locked USING (organization_id, schedule_id)
      GROUP BY organization_id, schedule_id, locked.enabled, locked.frequency, locked.failures_in_row),
   after AS (
     SELECT organization_id, schedule_id, failures,
            CASE WHEN NOT enabled THEN NULL
                 WHEN pause IS NOT NULL THEN pause
                 WHEN failed > 0 AND failures >= ${mostFailures} THEN ${tooManyFailures}
            END AS pause
       FROM counted)
   UPDATE schedules s
      SET failures_in_row = after.failures,
          enabled = s.enabled AND after.pause IS NULL,
          next_run_at = CASE WHEN after.pause IS NULL THEN s.next_run_at END,
          pause_reason = coalesce(after.pause, s.pause_reason)
     FROM after
    WHERE s.organization_id = after.organization_id AND s.schedule_id = after.schedule_id`,
);
