// The SQL of runs that are worked on. A run belongs to the node with the highest fence: each write of a step names
// the fence, and is a no-op if another node has picked the run up since.
import type { SessionActivity, SessionMode, SessionStatus } from "@hawser/contract";
import { reachableSql } from "../hosts/store.ts";
import { statement, systemStatement } from "../postgres/statement.ts";
import { endedPlanSql, pausedSql, skippedSql, type RunPlan } from "./plan.ts";

export interface RunRow {
  organization_id: string;
  schedule_id: string;
  run_id: string;
  fence: number;
  plan: RunPlan;
  api_key_id: string;
  step: "start" | "prompt";
  asked: boolean;
  session_id: string | null;
  passed_over: { instanceId: string; reason: string }[];
  /** Since it was claimed. */
  age_seconds: number;
  /** Since a host was first asked for the present step; 0 if none was. */
  asked_seconds: number;
  /** How many calls reached their host too late. */
  late_calls: number;
}

/**
 * A time at which work on a run continues. One that lies further ahead than any statement sets it has passed too:
 * the clock was set back.
 */
export const hasPassedSql = (column: string) =>
  `${column} NOT BETWEEN hawser_now() AND hawser_now() + interval '1 minute'`;

/** How long a node may work on a run without renewing its lease. */
const lease = `hawser_now() + interval '15 seconds'`;

/**
 * $1 node, $2 organizations with runs that the node works on, $3 how many, $4 most of one organization, $5 most,
 * $6 most of organizations that the node works for already. The organizations take turns, so that one with many
 * runs delays no other. Rows that another node has locked are skipped before they are counted.
 */
export const pickUp = systemStatement<RunRow>(
  "pick up runs of schedules to work on",
  `WITH to_do AS (
     SELECT r.organization_id, r.schedule_id, r.run_at,
            row_number() OVER (PARTITION BY r.organization_id ORDER BY r.try_at) + coalesce(held.runs, 0) AS turn
       FROM schedule_runs r
       LEFT JOIN unnest($2::uuid[], $3::int[]) AS held (organization_id, runs)
         ON held.organization_id = r.organization_id
      WHERE r.step IN ('start', 'prompt') AND ${hasPassedSql("r.try_at")} AND ${hasPassedSql("r.lease_until")}),
   free AS MATERIALIZED (
     SELECT r.organization_id, r.schedule_id, r.run_at
       FROM (SELECT *, row_number() OVER (ORDER BY turn) AS place FROM to_do WHERE turn <= $4) AS next
       JOIN schedule_runs r ON r.organization_id = next.organization_id
                           AND r.schedule_id = next.schedule_id AND r.run_at = next.run_at
      WHERE r.step IN ('start', 'prompt') AND ${hasPassedSql("r.try_at")} AND ${hasPassedSql("r.lease_until")}
        AND (next.turn = 1 OR next.place <= $6)
      ORDER BY next.turn LIMIT $5
        FOR UPDATE OF r SKIP LOCKED)
   UPDATE schedule_runs r SET holder = $1, fence = r.fence + 1, lease_until = ${lease}
     FROM free
    WHERE r.organization_id = free.organization_id AND r.schedule_id = free.schedule_id AND r.run_at = free.run_at
   RETURNING r.organization_id, r.schedule_id, r.run_id, r.fence, r.plan, r.api_key_id, r.step, r.asked,
             r.session_id, r.passed_over, extract(epoch FROM hawser_now() - r.created_at)::float8 AS age_seconds,
             coalesce(extract(epoch FROM hawser_now() - r.first_asked_at), 0)::float8 AS asked_seconds,
             r.late_calls`,
);

/** $1 organizations, $2 schedules, $3 runs, $4 fences. One that is locked does not keep the others from it. */
export const renewRuns = systemStatement(
  "renew the leases of the runs of schedules that a node works on",
  `WITH free AS MATERIALIZED (
     SELECT r.organization_id, r.schedule_id, r.run_at
       FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[]) AS held (organization_id, schedule_id, run_id, fence)
       JOIN schedule_runs r ON r.organization_id = held.organization_id AND r.schedule_id = held.schedule_id
        AND r.run_id = held.run_id AND r.fence = held.fence AND r.step IN ('start', 'prompt')
        FOR NO KEY UPDATE OF r SKIP LOCKED)
   UPDATE schedule_runs r SET lease_until = ${lease}
     FROM free
    WHERE r.organization_id = free.organization_id AND r.schedule_id = free.schedule_id AND r.run_at = free.run_at`,
);

const heldRun = `r.organization_id = $1 AND r.schedule_id = $2 AND r.run_id = $3 AND r.fence = $4
      AND r.step IN ('start', 'prompt')`;

/** A scheduled run that nothing was asked for yet needs a schedule that is not paused. */
const mayAsk = `(s.enabled OR r.asked OR r.step = 'prompt' OR (r.plan ->> 'isRequested')::boolean)`;
const ofRun = `s.organization_id = r.organization_id AND s.schedule_id = r.schedule_id`;

/** $5 key. Write it before a host is asked. No row if the run may not ask, or no longer with this key. */
export const noteAsked = systemStatement<{ run_id: string }>(
  "record that a run of a schedule asks a host",
  `UPDATE schedule_runs r SET asked = true, first_asked_at = coalesce(r.first_asked_at, hawser_now())
     FROM schedules s
    WHERE ${heldRun} AND r.api_key_id = $5 AND ${ofRun} AND ${mayAsk}
   RETURNING r.run_id`,
);

/** No-op unless the schedule was paused before the run asked a host. */
export const skipPaused = systemStatement(
  "skip a run whose schedule was paused before it started",
  `UPDATE schedule_runs r
      SET ${skippedSql(pausedSql)}
     FROM schedules s
    WHERE ${heldRun} AND ${ofRun} AND NOT ${mayAsk}`,
);

/** $5 JSON array with the host and the reason. */
export const passOver = systemStatement<{ run_id: string }>(
  "record that a run of a schedule passes over a host",
  `UPDATE schedule_runs r
      SET passed_over = r.passed_over || $5::jsonb, asked = false, session_id = NULL, failure = NULL,
          first_asked_at = NULL
    WHERE ${heldRun} RETURNING r.run_id`,
);

/** The longer a run has been tried, the longer the pause. $5 why it waits, which its record shows meanwhile. */
const pauseSql = `failure = $5, lease_until = hawser_now(), holder = NULL,
          try_at = hawser_now() + greatest(interval '1 second', least(interval '30 seconds',
                     (hawser_now() - r.created_at) / 4))`;

/** $6 session, if it is known. */
export const tryLater = systemStatement(
  "try a run of a schedule again later",
  `UPDATE schedule_runs r SET session_id = coalesce($6, r.session_id), ${pauseSql} WHERE ${heldRun}`,
);

/** For a call that reached its host too late, so that nothing was done. The next one is a call of its own. */
export const callAnew = systemStatement(
  "let a run of a schedule make a new call",
  `UPDATE schedule_runs r
      SET late_calls = r.late_calls + 1, asked = false,
          session_id = CASE WHEN r.step = 'prompt' THEN r.session_id END, ${pauseSql}
    WHERE ${heldRun}`,
);

/** Lets any node continue the run. */
export const giveBack = systemStatement(
  "give back a run of a schedule",
  `UPDATE schedule_runs r SET lease_until = hawser_now(), try_at = hawser_now(), holder = NULL WHERE ${heldRun}`,
);

/** $1 organization, $2 hosts. Whether one of them is connected. */
export const selectConnected = systemStatement<{ connected: boolean }>(
  "read whether a host of a schedule's run is connected",
  `SELECT EXISTS (SELECT FROM instances WHERE organization_id = $1 AND instance_id = ANY ($2::uuid[])
            AND status = 'online' AND deleted_at IS NULL) AS connected`,
);

/** Locks the schedule before its run, in the order of a deletion. */
const lockedSchedule = `locked AS MATERIALIZED (
     SELECT organization_id, schedule_id FROM schedules
      WHERE organization_id = $1 AND schedule_id = $2 FOR NO KEY UPDATE)`;

/** $5 session. */
export const noteStarted = systemStatement<{ schedule_id: string }>(
  "record the session that a run of a schedule has started",
  `WITH ${lockedSchedule},
   started AS (
     UPDATE schedule_runs r SET step = 'prompt', session_id = $5, started_at = hawser_now(), asked = false,
            failure = NULL, first_asked_at = NULL
       FROM locked WHERE ${heldRun} AND r.step = 'start'
     RETURNING r.organization_id, r.schedule_id)
   UPDATE schedules s SET session_count = s.session_count + 1
     FROM started
    WHERE s.organization_id = started.organization_id AND s.schedule_id = started.schedule_id
   RETURNING s.schedule_id`,
);

/** $5 turn. */
export const notePrompted = systemStatement(
  "record the turn that a run of a schedule has started",
  `UPDATE schedule_runs r
      SET step = 'watch', turn_id = $5, plan = ${endedPlanSql("r.plan")}, asked = false, failure = NULL, holder = NULL, try_at = hawser_now()
    WHERE ${heldRun} AND r.step = 'prompt'`,
);

export interface SessionState {
  status: SessionStatus;
  status_reason: string | null;
  status_message: string | null;
  activity: SessionActivity;
  reachable: boolean;
}

/** For statements that read `sessions s`. */
export const sessionStateSql = `s.status, s.status_reason, s.status_message, s.activity, ${reachableSql("s")} AS reachable`;

/** $1 organization. */
export const selectHighestMode = systemStatement<{ highest_mode: SessionMode }>(
  "read the highest mode of the organization of a trigger's run",
  `SELECT highest_mode FROM organizations WHERE organization_id = $1`,
);

/** $1 organization, $2 session. */
export const selectSessionState = systemStatement<SessionState>(
  "read the state of a session that a run of a schedule prompts",
  `SELECT ${sessionStateSql} FROM sessions s
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL`,
);

/**
 * $1 organization, $2 former key, $3 its successor. A run that may have asked a host keeps its key, because only
 * that key gets the outcome of its call.
 */
export const moveRunsToKey = statement(
  `UPDATE schedule_runs SET api_key_id = $3
    WHERE organization_id = $1 AND api_key_id = $2 AND step IN ('wait', 'start', 'prompt') AND NOT asked`,
);
