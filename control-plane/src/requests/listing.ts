// Lists of requests, newest first, filtered by session, host and whether they are pending. Each
// combination of filters has its own statement, because each has its own index.
import {
  formatId,
  notFound,
  parseId,
  type AskedPermission,
  type AskedQuestion,
  type RequestRecord,
} from "@hawser/contract";
import { instanceExists } from "../hosts/store.ts";
import { query, type Query, type TenantSql } from "../postgres/statement.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { sessionExists } from "../sessions/store.ts";
import * as store from "./store.ts";

export interface RequestFilter {
  sessionId?: string | undefined;
  instanceId?: string | undefined;
  scope?: store.Scope | undefined;
}

/**
 * At most `count` requests recorded before `before`. Throws `not_found` for an unknown session or
 * instance, so that a typing error shows.
 */
export async function readRequests(
  sql: TenantSql,
  { sessionId, instanceId, scope = "pending" }: RequestFilter,
  before: string,
  count: number,
): Promise<store.RequestRow[]> {
  const session = sessionId === undefined ? undefined : parseId("session", sessionId);
  const instance = instanceId === undefined ? undefined : parseId("instance", instanceId);
  if (session === null) throw notFound("session");
  if (instance === null) throw notFound("instance");
  const page = [sql.organizationId, before, count];
  const [rows, sessions, instances] = await sql.together(
    listingQuery(sql, store.selectNewest[scope], page, session, instance),
    ...(session ? [query(sessionExists, sql.organizationId, session)] : []),
    ...(instance ? [query(instanceExists, sql.organizationId, instance)] : []),
  );
  const found = [sessions, instances] as unknown[][];
  if (session && found[0]!.length === 0) throw notFound("session");
  if (instance && found[session ? 1 : 0]!.length === 0) throw notFound("instance");
  return rows;
}

function listingQuery(
  { agentSessionId }: TenantSql,
  listing: (typeof store.selectNewest)["all"],
  page: unknown[],
  session: string | undefined,
  instance: string | undefined,
): Query<store.RequestRow> {
  if (agentSessionId !== null)
    return query(listing.ofAgent, ...page, agentSessionId, session, instance);
  if (session && instance) return query(listing.ofSessionOnInstance, ...page, session, instance);
  if (session) return query(listing.ofSession, ...page, session);
  if (instance) return query(listing.ofInstance, ...page, instance);
  return query(listing.every, ...page);
}

export function requestRecord(row: store.RequestRow): RequestRecord {
  const isPending = row.status === "pending";
  const isPermission = row.type === "permission";
  return {
    requestId: formatId("request", row.request_id),
    type: row.type,
    sessionId: formatId("session", row.session_id),
    instanceId: formatId("instance", row.instance_id),
    answerable: (isPending || row.status === "undeliverable") && !isOver(row.session_status),
    status: row.status,
    permission: isPermission ? (row.shown as AskedPermission) : null,
    questions: isPermission ? null : (row.shown as AskedQuestion[]),
    rule: row.rule,
    // The answer of a pending request is being delivered, or did not arrive.
    answer: isPending ? null : row.answer,
    answers: isPending ? null : row.answers,
    answeredBy: isPending ? null : row.answered_by,
    raisedAt: row.raised_at,
    resolvedAt: row.resolved_at,
  };
}
