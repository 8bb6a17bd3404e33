// The SQL of sessions. Every listing reads one index that starts with the organization and ends in
// the session's id, which sorts by birth; so a page costs the same however many sessions there are.
import type { AgentKind, SessionStatus, Starter } from "@hawser/contract";
import { statement } from "../postgres/statement.ts";

export const sessionExists = statement<{ session_id: string }>(
  `SELECT session_id FROM sessions
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL`,
);

export interface SessionListRow {
  session_id: string;
  instance_id: string;
  title: string | null;
  agent_kind: AgentKind;
  directory: string | null;
  worktree_branch: string | null;
  status: SessionStatus;
  status_reason: string | null;
  reachable: boolean;
  cost_usd: number | null;
  cost_is_estimate: boolean;
  started_by: Starter;
  forked_from: string | null;
  created_at: string;
  ended_at: string | null;
}

/** $1 organization, $2 sessions older than this id, $3 how many; then the filters, in this order. */
function newestFirst(filters: string[]) {
  const narrowed = filters.map((column, index) => `AND s.${column} = $${index + 4}`).join(" ");
  return statement<SessionListRow>(
    `SELECT s.session_id, s.instance_id, s.title, s.agent_kind, s.directory, s.worktree_branch, s.status,
            s.status_reason, i.status = 'online' AS reachable, s.cost_usd, s.cost_is_estimate, s.started_by,
            s.forked_from, s.created_at, s.ended_at
       FROM sessions s
       JOIN instances i ON i.organization_id = s.organization_id AND i.instance_id = s.instance_id
      WHERE s.organization_id = $1 AND s.session_id < $2 AND s.deleted_at IS NULL ${narrowed}
      ORDER BY s.session_id DESC
      LIMIT $3`,
  );
}

export const selectNewest = newestFirst([]);
export const selectNewestOfInstance = newestFirst(["instance_id"]);
export const selectNewestInStatus = newestFirst(["status"]);
export const selectNewestOfInstanceInStatus = newestFirst(["instance_id", "status"]);

/** Makes the sessions of an instance invisible, with the instance itself. */
export const deleteSessionsOfInstance = statement(
  `UPDATE sessions SET deleted_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);
