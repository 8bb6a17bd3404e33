// The SQL of what hosts report about requests. Its statements run across organizations, because one
// transaction contains the reports of many hosts; each row is addressed by organization and session.
import { systemStatement } from "../postgres/statement.ts";
import { isOverSql } from "../sessions/lifecycle.ts";

/**
 * $1 is a JSON array of rows, at most one for each request. A request that is raised again is pending
 * again. A request of another session is not changed.
 */
export const raiseRequests = systemStatement(
  "record the requests that agents raise",
  `INSERT INTO requests AS known
     (organization_id, request_id, session_id, instance_id, type, shown, shown_hash, rule, raised_at,
      log_seq)
   SELECT reported.* FROM jsonb_to_recordset($1::jsonb) AS reported (
            organization_id uuid, request_id uuid, session_id uuid, instance_id uuid, type text,
            shown jsonb, shown_hash text, rule text, raised_at timestamptz, log_seq bigint)
   ON CONFLICT (organization_id, request_id) DO UPDATE
      SET status = 'pending', type = excluded.type, shown = excluded.shown,
          shown_hash = excluded.shown_hash, rule = excluded.rule, resolved_at = NULL,
          log_seq = excluded.log_seq
    WHERE known.session_id = excluded.session_id`,
);

/**
 * $1 is a JSON array of rows. The host's report overrides what was assumed here, for example if the
 * confirmation of an answer was lost. The name of whoever gave exactly this answer is kept. Two things
 * are not overridden: an answer that the agent accepted, and an answer that is stored for a session
 * that is over.
 */
export const settleRequests = systemStatement(
  "record how requests were settled",
  `UPDATE requests r
      SET status = reported.status, answer = reported.answer, answers = reported.answers, delivering_until = NULL,
          log_seq = reported.log_seq,
          resolved_at = CASE WHEN r.status = 'answered' THEN r.resolved_at ELSE reported.resolved_at END,
          answered_by = CASE WHEN reported.status = 'answered'
                              AND r.answer IS NOT DISTINCT FROM reported.answer
                              AND r.answers IS NOT DISTINCT FROM reported.answers THEN r.answered_by END
     FROM jsonb_to_recordset($1::jsonb) AS reported (
            organization_id uuid, request_id uuid, session_id uuid, status text, answer text,
            answers jsonb, resolved_at timestamptz, log_seq bigint)
     JOIN sessions s ON s.organization_id = reported.organization_id AND s.session_id = reported.session_id
    WHERE r.organization_id = reported.organization_id AND r.request_id = reported.request_id
      AND r.session_id = reported.session_id
      AND (reported.status = 'answered'
           OR NOT (r.status = 'answered'
                   OR (r.status = 'undeliverable' AND ${isOverSql("s.status")})))`,
);

/** $1 instances. Requests that their hosts no longer wait for are reported in the log, now or next. */
export const offerAgain = systemStatement<{ organization_id: string; request_id: string }>(
  "make undelivered requests of hosts that are back pending again",
  `UPDATE requests r SET status = 'pending', resolved_at = NULL, delivering_until = NULL
     FROM sessions s
    WHERE r.instance_id = ANY ($1::uuid[]) AND r.status = 'undeliverable'
      AND s.organization_id = r.organization_id AND s.session_id = r.session_id
      AND s.deleted_at IS NULL AND NOT ${isOverSql("s.status")}
   RETURNING r.organization_id, r.request_id`,
);

export const withdrawRequestsOfInstance = systemStatement(
  "withdraw the pending requests of a replaced machine",
  `UPDATE requests SET status = 'withdrawn', resolved_at = hawser_now(), delivering_until = NULL
    WHERE organization_id = $1 AND instance_id = $2 AND status IN ('pending', 'undeliverable')`,
);

/** $1 organizations, $2 sessions. */
export const withdrawRequestsOfLost = systemStatement<{ session_id: string; request_id: string }>(
  "withdraw the pending requests of sessions whose journal is lost",
  `UPDATE requests r
      SET status = 'withdrawn', answer = NULL, answers = NULL, answered_by = NULL,
          resolved_at = hawser_now(), delivering_until = NULL
     FROM unnest($1::uuid[], $2::uuid[]) AS lost (organization_id, session_id)
    WHERE r.organization_id = lost.organization_id AND r.session_id = lost.session_id
      AND r.status IN ('pending', 'undeliverable')
   RETURNING r.session_id, r.request_id`,
);
