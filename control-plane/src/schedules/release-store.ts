// The SQL that lets runs of triggers begin. A schedule has one run at a time; a trigger may have several, and others
// can send it any number of events. So its runs wait until it is their turn.
import { systemStatement } from "../postgres/statement.ts";
import { pausedSql, skippedSql } from "./plan.ts";

/** Runs of one trigger that have not ended. */
const mostAtOnce = 5;
/** Runs that all triggers of an organization start together. */
const mostAMinute = 60;

/** Runs of triggers that the service has paused, and runs that have waited for too long, are not started. */
export const skipWaiting = systemStatement(
  "skip waiting runs of triggers",
  `WITH free AS MATERIALIZED (
     SELECT r.organization_id, r.schedule_id, r.run_at, s.enabled
       FROM schedule_runs r
       JOIN schedules s ON s.organization_id = r.organization_id AND s.schedule_id = r.schedule_id
      WHERE r.step = 'wait' AND (NOT s.enabled OR r.run_at < hawser_now() - interval '12 hours')
        FOR UPDATE OF r SKIP LOCKED)
   UPDATE schedule_runs r
      SET ${skippedSql(`CASE WHEN free.enabled THEN 'It has waited for its turn for 12 hours.' ELSE ${pausedSql} END`)}
     FROM free
    WHERE r.organization_id = free.organization_id AND r.schedule_id = free.schedule_id AND r.run_at = free.run_at`,
);

/**
 * The oldest runs first. `created_at` becomes the moment of release: what a run may wait for hosts counts from there.
 * Two nodes that release at once choose the same rows, and the later one skips them.
 */
export const releaseWaiting = systemStatement(
  "let waiting runs of triggers begin",
  `WITH busy AS MATERIALIZED (
     SELECT organization_id, schedule_id,
            (SELECT count(*) FROM schedule_runs r
              WHERE r.organization_id = w.organization_id AND r.schedule_id = w.schedule_id
                AND r.step <> 'ended' AND r.step <> 'wait') AS runs
       FROM (SELECT DISTINCT organization_id, schedule_id FROM schedule_runs WHERE step = 'wait') AS w),
   next AS (
     SELECT r.organization_id, r.schedule_id, r.run_at,
            row_number() OVER (PARTITION BY r.organization_id ORDER BY r.run_id) AS turn
       FROM busy CROSS JOIN LATERAL (
            SELECT * FROM schedule_runs
             WHERE organization_id = busy.organization_id AND schedule_id = busy.schedule_id AND step = 'wait'
             ORDER BY run_id LIMIT greatest(0, ${mostAtOnce} - busy.runs)) AS r),
   lately AS MATERIALIZED (
     SELECT organization_id,
            (SELECT count(*) FROM schedule_runs r
              WHERE r.organization_id = o.organization_id AND r.delivery_id IS NOT NULL AND r.step <> 'wait'
                AND r.outcome <> 'skipped' AND r.created_at BETWEEN hawser_now() - interval '1 minute' AND hawser_now()) AS runs
       FROM (SELECT DISTINCT organization_id FROM next) AS o),
   free AS MATERIALIZED (
     SELECT r.organization_id, r.schedule_id, r.run_at
       FROM next JOIN lately ON lately.organization_id = next.organization_id
       JOIN schedule_runs r ON r.organization_id = next.organization_id
                           AND r.schedule_id = next.schedule_id AND r.run_at = next.run_at
      WHERE r.step = 'wait' AND next.turn <= ${mostAMinute} - lately.runs
      ORDER BY next.turn FOR UPDATE OF r SKIP LOCKED)
   UPDATE schedule_runs r
      SET step = 'start', failure = NULL, created_at = hawser_now(), try_at = hawser_now(), lease_until = hawser_now()
     FROM free
    WHERE r.organization_id = free.organization_id AND r.schedule_id = free.schedule_id AND r.run_at = free.run_at`,
);
