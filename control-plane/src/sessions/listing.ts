// Lists of sessions, newest first, filtered by host and status. Each combination of filters has its own
// statement, because each has its own index.
import {
  formatId,
  notFound,
  parseId,
  type SessionListEntry,
  type SessionStatus,
} from "@hawser/contract";
import { instanceExists } from "../hosts/store.ts";
import { query, type Query, type TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";

export interface SessionFilter {
  instanceId?: string | undefined;
  status?: SessionStatus | undefined;
}

/**
 * At most `count` sessions older than `before`. Throws `not_found` if the instance does not exist, so
 * that a typing error shows.
 */
export async function readSessions(
  sql: TenantSql,
  { instanceId, status }: SessionFilter,
  before: string,
  count: number,
): Promise<store.SessionListRow[]> {
  const instance = instanceId === undefined ? undefined : parseId("instance", instanceId);
  if (instance === null) throw notFound("instance");
  const listing = listingQuery(sql, [sql.organizationId, before, count], instance, status);
  if (instance === undefined) return (await sql.together(listing))[0];
  const [known, rows] = await sql.together(
    query(instanceExists, sql.organizationId, instance),
    listing,
  );
  if (known.length === 0) throw notFound("instance");
  return rows;
}

function listingQuery(
  { agentSessionId }: TenantSql,
  page: [string, string, number],
  instance: string | undefined,
  status: SessionStatus | undefined,
): Query<store.SessionListRow> {
  if (agentSessionId !== null)
    return query(store.selectNewestOfAgent, ...page, agentSessionId, instance, status);
  if (instance && status)
    return query(store.selectNewestOfInstanceInStatus, ...page, instance, status);
  if (instance) return query(store.selectNewestOfInstance, ...page, instance);
  if (status) return query(store.selectNewestInStatus, ...page, status);
  return query(store.selectNewest, ...page);
}

export function sessionListEntry(row: store.SessionListRow): SessionListEntry {
  return {
    sessionId: formatId("session", row.session_id),
    instanceId: formatId("instance", row.instance_id),
    title: row.title,
    agentKind: row.agent_kind,
    directory: row.directory,
    worktreeBranch: row.worktree_branch,
    status: row.status,
    statusReason: row.status_reason,
    reachable: row.reachable,
    cost: row.cost_usd,
    costIsEstimate: row.cost_is_estimate,
    startedBy: row.started_by,
    forkedFrom: row.forked_from && formatId("session", row.forked_from),
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
