// The list of sessions, newest first, filtered by host and status. Each combination of filters has its own
// statement, because each has its own index.
import {
  formatId,
  notFound,
  parseId,
  type SessionListEntry,
  type SessionStatus,
} from "@hawser/contract";
import { lastId } from "../cursor.ts";
import { instanceExists } from "../hosts/store.ts";
import { query, type Query, type TenantSql } from "../postgres/statement.ts";
import { statusMessage } from "./status-reasons.ts";
import * as store from "./store.ts";

export interface SessionFilter {
  instanceId?: string | undefined;
  status?: SessionStatus | undefined;
}

/** At most `count` sessions. Throws `not_found` if the instance does not exist, so that a typing error shows. */
export async function readSessions(
  sql: TenantSql,
  filter: SessionFilter,
  count: number,
): Promise<store.SessionListRow[]> {
  const { listing, values, instance } = listingOf(sql, filter);
  const rows = query(listing, sql.organizationId, lastId, count, ...values);
  return readOfInstance(sql, instance, rows);
}

/** Runs a query for sessions of a stored instance, or of all. Throws `not_found` if the instance does not exist. */
export async function readOfInstance<Row>(
  sql: TenantSql,
  instance: string | undefined,
  rows: Query<Row>,
): Promise<Row[]> {
  if (instance === undefined) return (await sql.together(rows))[0];
  const [known, found] = await sql.together(
    query(instanceExists, sql.organizationId, instance),
    rows,
  );
  if (known.length === 0) throw notFound("instance");
  return found;
}

/** The statements for a combination of filters, and the values of the filters. */
function listingOf(
  { agentSessionId, grantedUserId }: TenantSql,
  { instanceId, status }: SessionFilter,
) {
  const instance = instanceId === undefined ? undefined : parseId("instance", instanceId);
  if (instance === null) throw notFound("instance");
  if (agentSessionId !== null) {
    const values = [agentSessionId, instance ?? null, status ?? null];
    return { listing: store.newestOfAgent, values, instance };
  }
  if (grantedUserId !== null) {
    const values = [grantedUserId, instance ?? null, status ?? null];
    return { listing: store.newestOfGrants, values, instance };
  }
  if (instance && status)
    return { listing: store.newestOfInstanceInStatus, values: [instance, status], instance };
  if (instance) return { listing: store.newestOfInstance, values: [instance], instance };
  if (status) return { listing: store.newestInStatus, values: [status], instance };
  return { listing: store.newest, values: [], instance };
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
    statusMessage: statusMessage(row),
    reachable: row.reachable,
    cost: row.cost_usd,
    costIsEstimate: row.cost_is_estimate,
    startedBy: row.started_by,
    forkedFrom: row.forked_from && formatId("session", row.forked_from),
    createdAt: row.created_at,
    endedAt: row.ended_at,
  };
}
