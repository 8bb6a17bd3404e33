// The SQL that claims the times at which schedules are due. One statement moves the schedule to its next time and
// inserts the run, so no time is run twice, on whichever nodes it is found.
import type { Frequency } from "@hawser/contract";
import { systemStatement } from "../postgres/statement.ts";
import { endedPlanSql, planSql } from "./plan.ts";

export interface DueRow {
  organization_id: string;
  schedule_id: string;
  /** The time as PostgreSQL writes it, without loss, because the claim compares it. */
  slot: string;
  slot_at: string;
  start_at: string;
  frequency: Frequency;
  time_zone: string;
  now: string;
  /** Length of the prompt, which the claim copies. */
  bytes: number;
}

export const selectIsDue = systemStatement<{ is_due: boolean }>(
  "read whether a schedule is due",
  `SELECT EXISTS (SELECT FROM schedules WHERE next_run_at <= hawser_now()) AS is_due`,
);

/**
 * $1 limit. Skips those that another node is claiming, so that several nodes claim different ones at once. A
 * statement of its own before the claim, so that the claim sees the runs that others inserted until then.
 */
export const lockDue = systemStatement<DueRow>(
  "lock the schedules that are due",
  `WITH due AS MATERIALIZED (
     SELECT organization_id, schedule_id, next_run_at, start_at, frequency, octet_length(prompt) AS bytes
       FROM schedules WHERE next_run_at <= hawser_now()
      ORDER BY next_run_at LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED)
   SELECT due.organization_id, schedule_id, next_run_at::text AS slot, next_run_at AS slot_at, start_at, frequency,
          o.time_zone, hawser_now() AS now, bytes
     FROM due JOIN organizations o ON o.organization_id = due.organization_id
    ORDER BY next_run_at`,
);

/** A due time to claim, as JSON. */
export interface Slot {
  organization_id: string;
  schedule_id: string;
  slot: string;
  /** The time that is run: the slot, or a later one if the slot was missed. */
  run_at: string;
  next_run_at: string | null;
  /** Why the slot itself was not run; null if it is. */
  missed: string | null;
}

const endedPlan = endedPlanSql("plan");
const instantText = (column: string) =>
  `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`;

/**
 * $1 slots. A slot whose schedule has moved on since it was read is left alone. If an earlier run has not ended,
 * the new one is recorded as skipped. A missed run has an older id than the run that replaces it.
 */
export const claimSlots = systemStatement<{ step: string; seconds_late: number }>(
  "claim the times at which schedules are due",
  `WITH moved AS (
     UPDATE schedules s SET next_run_at = due.next_run_at
       FROM jsonb_to_recordset($1::jsonb) AS due (
              organization_id uuid, schedule_id uuid, slot timestamptz, run_at timestamptz,
              next_run_at timestamptz, missed text)
      WHERE s.organization_id = due.organization_id AND s.schedule_id = due.schedule_id
        AND s.next_run_at = due.slot
     RETURNING s.organization_id, s.schedule_id, due.slot, due.run_at, due.missed, s.api_key_id,
               ${planSql("s", false)} AS plan, CASE WHEN due.missed IS NOT NULL THEN hawser_new_id() END AS missed_id),
   missed AS (
     INSERT INTO schedule_runs (organization_id, schedule_id, run_at, run_id, plan, api_key_id, step, outcome, failure, ended_at)
     SELECT organization_id, schedule_id, slot, missed_id, ${endedPlan}, api_key_id, 'ended', 'missed', missed, hawser_now()
       FROM moved WHERE missed IS NOT NULL
     ON CONFLICT DO NOTHING)
   INSERT INTO schedule_runs (organization_id, schedule_id, run_at, plan, api_key_id, step, outcome, failure, ended_at)
   SELECT organization_id, schedule_id, run_at, CASE WHEN unended IS NULL THEN plan ELSE ${endedPlan} END, api_key_id,
          CASE WHEN unended IS NULL THEN 'start' ELSE 'ended' END,
          CASE WHEN unended IS NULL THEN 'running' ELSE 'skipped' END,
          'The run that was due at ' || ${instantText("unended")} || CASE WHEN needs_answer
            THEN ' waits for an answer. list_pending_requests shows the request.' ELSE ' has not ended.' END,
          CASE WHEN unended IS NOT NULL THEN hawser_now() END
     FROM moved
     LEFT JOIN LATERAL (
            SELECT min(r.run_at) AS unended, bool_or(r.outcome = 'needs_answer') AS needs_answer
              FROM schedule_runs r
             WHERE r.organization_id = moved.organization_id AND r.schedule_id = moved.schedule_id
               AND r.step <> 'ended') earlier ON true
   ON CONFLICT DO NOTHING
   RETURNING step, extract(epoch FROM hawser_now() - run_at)::float8 AS seconds_late`,
);
