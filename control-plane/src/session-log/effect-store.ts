// The SQL of the state that log entries cause. Its statements run across organizations, like the
// intake's.
import { systemStatement } from "../postgres/statement.ts";
import { mostListed } from "../sessions/store.ts";

/** $1 is a JSON array of rows, one for each session. */
export const setStatuses = systemStatement(
  "set the statuses that session logs report",
  `UPDATE sessions s
      SET status = reported.status, status_reason = reported.status_reason,
          status_message = reported.status_message,
          ended_at = CASE WHEN reported.status = 'ended' THEN coalesce(s.ended_at, hawser_now()) ELSE s.ended_at END
     FROM jsonb_to_recordset($1::jsonb) AS reported (
            organization_id uuid, session_id uuid, status text, status_reason text, status_message text)
    WHERE s.organization_id = reported.organization_id AND s.session_id = reported.session_id`,
);

/**
 * The stored list with the reported additions, and without what was reported to be over. An addition may be
 * in the list already, because the action that caused it has recorded it.
 */
const listAfter = (stored: string, added: string, removed: string) => `CASE
            WHEN reported.${added} IS NULL AND reported.${removed} IS NULL THEN s.${stored}
            ELSE (SELECT coalesce(array_agg(id), '{}')
                    FROM (SELECT s.${stored} || (SELECT array_agg(new) FROM unnest(reported.${added}) AS new
                                                  WHERE new <> ALL (s.${stored})) AS ids) listed,
                         unnest(ids[greatest(1, cardinality(ids) - ${mostListed - 1}):]) AS id
                   WHERE id <> ALL (coalesce(reported.${removed}, '{}'))) END`;

/**
 * $1 is a JSON array of rows, one for each session; a null leaves the column unchanged. A running turn
 * is shown as waiting while a request of the session is pending, so requests are written before this.
 */
export const setStates = systemStatement(
  "set the state that session logs report",
  `UPDATE sessions s
      SET activity = CASE
            WHEN coalesce(reported.activity, s.activity) IN ('running', 'waiting') THEN
              CASE WHEN EXISTS (SELECT FROM requests r
                                 WHERE r.organization_id = s.organization_id
                                   AND r.session_id = s.session_id AND r.status = 'pending')
                   THEN 'waiting' ELSE 'running' END
            WHEN reported.begun AND s.activity = 'starting' THEN coalesce(reported.activity, 'idle')
            ELSE coalesce(reported.activity, s.activity) END,
          turn_id = coalesce(reported.turn_id, s.turn_id),
          turn_outcome = CASE WHEN reported.turn_moved THEN reported.turn_outcome ELSE s.turn_outcome END,
          outcome_seq = coalesce(reported.outcome_seq, s.outcome_seq),
          turn_started_at = coalesce(reported.turn_started_at, s.turn_started_at),
          last_activity_at = reported.last_activity_at,
          queued_turns = ${listAfter("queued_turns", "queued", "unqueued")},
          running_shells = ${listAfter("running_shells", "shells_started", "shells_ended")},
          model = coalesce(reported.model, s.model),
          usage = coalesce(reported.usage, s.usage),
          cost_usd = CASE WHEN reported.usage IS NULL THEN s.cost_usd ELSE reported.cost_usd END,
          cost_is_estimate = coalesce(reported.cost_is_estimate, s.cost_is_estimate),
          title = CASE WHEN s.title_given THEN s.title ELSE coalesce(reported.title, s.title) END,
          directory = coalesce(reported.directory, s.directory),
          worktree_branch = coalesce(reported.worktree_branch, s.worktree_branch),
          capabilities = coalesce(reported.capabilities, s.capabilities),
          mode = coalesce(reported.mode, s.mode),
          trusted_parts = coalesce(reported.trusted_parts, s.trusted_parts),
          agent_kind = coalesce(reported.agent_kind, s.agent_kind),
          fallback = coalesce(reported.fallback, s.fallback),
          account_user_id = coalesce(reported.account_user_id, s.account_user_id),
          shared_with = CASE WHEN reported.sharing_moved THEN reported.shared_with ELSE s.shared_with END,
          shared_at = CASE WHEN reported.sharing_moved THEN hawser_now() ELSE s.shared_at END
     FROM jsonb_to_recordset($1::jsonb) AS reported (
            organization_id uuid, session_id uuid, activity text, begun boolean, turn_moved boolean,
            turn_id text, turn_outcome text, outcome_seq bigint, turn_started_at timestamptz,
            last_activity_at timestamptz, queued text[], unqueued text[], shells_started text[],
            shells_ended text[], model jsonb, usage jsonb, cost_usd double precision,
            cost_is_estimate boolean, title text, directory text, worktree_branch text,
            capabilities text[], mode text, trusted_parts text[], agent_kind text, fallback jsonb,
            account_user_id uuid, sharing_moved boolean, shared_with uuid[])
    WHERE s.organization_id = reported.organization_id AND s.session_id = reported.session_id`,
);
