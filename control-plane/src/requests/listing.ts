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
import { mostSearched, searchedPage } from "../cursor.ts";
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
  filter: RequestFilter,
  before: string,
  count: number,
): Promise<store.RequestRow[]> {
  const { listing, values, ...named } = listingOf(sql, filter);
  return readOf(sql, named, query(listing.rows, sql.organizationId, before, count, ...values));
}

/** A page of the requests whose title, detail or questions contain a text, in any case. */
export async function searchRequests(
  sql: TenantSql,
  text: string,
  filter: RequestFilter,
  before: string,
  limit: number,
): Promise<{ rows: store.RequestRow[]; nextCursor: string | null }> {
  const { listing, values, ...named } = listingOf(sql, filter);
  const key = [sql.organizationId, before] as const;
  const matching = query(listing.matching, ...key, limit + 1, ...values, text);
  const found = await readOf(sql, named, matching);
  return searchedPage(
    found,
    limit,
    (row) => [row.listed_id],
    async () => {
      const last = await sql.first(listing.end, ...key, mostSearched - 1, ...values);
      return last && [last.listed_id];
    },
  );
}

interface Named {
  session?: string | undefined;
  instance?: string | undefined;
}

async function readOf(
  sql: TenantSql,
  { session, instance }: Named,
  listing: Query<store.RequestRow>,
): Promise<store.RequestRow[]> {
  const [rows, sessions, instances] = await sql.together(
    listing,
    ...(session ? [query(sessionExists, sql.organizationId, session)] : []),
    ...(instance ? [query(instanceExists, sql.organizationId, instance)] : []),
  );
  const found = [sessions, instances] as unknown[][];
  if (session && found[0]!.length === 0) throw notFound("session");
  if (instance && found[session ? 1 : 0]!.length === 0) throw notFound("instance");
  return rows;
}

/** The statements for a combination of filters, and the values of the filters. */
function listingOf(
  { agentSessionId, grantedUserId }: TenantSql,
  { sessionId, instanceId, scope = "pending" }: RequestFilter,
): Named & { listing: store.Listing; values: unknown[] } {
  const session = sessionId === undefined ? undefined : parseId("session", sessionId);
  const instance = instanceId === undefined ? undefined : parseId("instance", instanceId);
  if (session === null) throw notFound("session");
  if (instance === null) throw notFound("instance");
  const listings = store.newest[scope];
  const named = { session, instance };
  if (agentSessionId !== null) {
    const values = [agentSessionId, session ?? null, instance ?? null];
    return { ...named, listing: listings.ofAgent, values };
  }
  if (grantedUserId !== null) {
    const values = [grantedUserId, session ?? null, instance ?? null];
    return { ...named, listing: listings.ofGrants, values };
  }
  if (session && instance)
    return { ...named, listing: listings.ofSessionOnInstance, values: [session, instance] };
  if (session) return { ...named, listing: listings.ofSession, values: [session] };
  if (instance) return { ...named, listing: listings.ofInstance, values: [instance] };
  return { ...named, listing: listings.every, values: [] };
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
