// The SQL of the state that log entries cause. It crosses organizations, like the intake it belongs to.
import { systemStatement } from "../postgres/statement.ts";

/** $1 is a JSON array of rows, one for each session. */
export const setStatuses = systemStatement(
  "set the statuses that sessions' logs tell",
  `UPDATE sessions s
      SET status = told.status, status_reason = told.status_reason,
          ended_at = CASE WHEN told.status = 'ended' THEN coalesce(s.ended_at, hawser_now()) ELSE s.ended_at END
     FROM jsonb_to_recordset($1::jsonb) AS told (
            organization_id uuid, session_id uuid, status text, status_reason text)
    WHERE s.organization_id = told.organization_id AND s.session_id = told.session_id`,
);

/** Of a session's queue. A host takes 20; whatever it tells, the row does not grow without end. */
const mostQueued = 100;

/**
 * $1 is a JSON array of rows, one for each session; a null leaves what is there. A turn that runs is
 * waiting as long as a request of the session is open, so requests are written before this.
 */
export const setStates = systemStatement(
  "set what sessions' logs tell of their work",
  `UPDATE sessions s
      SET activity = CASE
            WHEN coalesce(told.activity, s.activity) IN ('running', 'waiting') THEN
              CASE WHEN EXISTS (SELECT FROM requests r
                                 WHERE r.organization_id = s.organization_id
                                   AND r.session_id = s.session_id AND r.status = 'pending')
                   THEN 'waiting' ELSE 'running' END
            WHEN told.begun AND s.activity = 'starting' THEN coalesce(told.activity, 'idle')
            ELSE coalesce(told.activity, s.activity) END,
          turn_id = coalesce(told.turn_id, s.turn_id),
          turn_outcome = CASE WHEN told.turn_moved THEN told.turn_outcome ELSE s.turn_outcome END,
          queued_turns = CASE
            WHEN told.queued IS NULL AND told.unqueued IS NULL THEN s.queued_turns
            ELSE (SELECT coalesce(array_agg(turn), '{}')
                    FROM unnest((s.queued_turns || told.queued)[
                           greatest(1, cardinality(s.queued_turns || told.queued) - ${mostQueued - 1}):]) AS turn
                   WHERE turn <> ALL (coalesce(told.unqueued, '{}'))) END,
          model = coalesce(told.model, s.model),
          usage = coalesce(told.usage, s.usage),
          cost_usd = CASE WHEN told.usage IS NULL THEN s.cost_usd ELSE told.cost_usd END,
          cost_is_estimate = coalesce(told.cost_is_estimate, s.cost_is_estimate),
          title = CASE WHEN s.title_given THEN s.title ELSE coalesce(told.title, s.title) END,
          directory = coalesce(told.directory, s.directory),
          worktree_branch = coalesce(told.worktree_branch, s.worktree_branch),
          capabilities = coalesce(told.capabilities, s.capabilities)
     FROM jsonb_to_recordset($1::jsonb) AS told (
            organization_id uuid, session_id uuid, activity text, begun boolean, turn_moved boolean,
            turn_id text, turn_outcome text, queued text[], unqueued text[], model jsonb, usage jsonb, cost_usd double precision,
            cost_is_estimate boolean, title text, directory text, worktree_branch text,
            capabilities text[])
    WHERE s.organization_id = told.organization_id AND s.session_id = told.session_id`,
);
