// Searching sessions: pages of overviews, the newest first. Each combination of host, status and group has its own
// statement, because each has its own index. Text, agent kind and person are looked for among the rows of it.
import {
  formatId,
  notFound,
  parseId,
  type InputOf,
  type ResultOf,
  type SessionCounts,
  type SessionOverview,
  type sessionActions,
} from "@hawser/contract";
import { mostSearched, page, readIdCursor, searchedPage } from "../cursor.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { ReadContext } from "../dispatch/handler.ts";
import { query, type Query, type TenantSql } from "../postgres/statement.ts";
import { activityOf } from "./activity.ts";
import { readOfInstance, sessionListEntry } from "./listing.ts";
import { isOver } from "./lifecycle.ts";
import * as store from "./overview-store.ts";

type Search = (typeof sessionActions)["search_sessions"];
type Filter = Pick<InputOf<Search>, "instanceId" | "status" | "group">;

export async function searchSessions(
  { sql, caller }: ReadContext,
  input: InputOf<Search>,
): Promise<ResultOf<Search>> {
  const { query: text = "", cursor, limit = 50, withCounts = false } = input;
  const { agentKind = null, startedBy = null } = input;
  const { listing, values, instance, counting } = listingOf(sql, input);
  const key = [sql.organizationId, readIdCursor(cursor)] as const;
  const given = [...key, limit + 1, ...values, readerOf(caller)];
  const isSearch = text !== "" || agentKind !== null || startedBy !== null;
  const rows = isSearch
    ? query(listing.matching, ...given, text, mostSearched, agentKind, startedBy)
    : query(listing.rows, ...given);
  const found = await readOfInstance(sql, instance, rows);
  const positionOf = (row: { session_id: string }) => [row.session_id];
  const shown = isSearch
    ? await searchedPage(found, limit, positionOf, async () => {
        const last = await sql.first(listing.end, ...key, mostSearched - 1, ...values);
        return last && positionOf(last);
      })
    : page(found, limit, positionOf);
  return {
    sessions: shown.rows.map(sessionOverview),
    nextCursor: shown.nextCursor,
    counts: withCounts ? (await sql.together(counting))[0][0]! : null,
  };
}

interface Found {
  listing: store.Listing;
  values: unknown[];
  instance: string | undefined;
  counting: Query<SessionCounts>;
}

/** The statements for a combination of filters, and the values of the filters. */
function listingOf(sql: TenantSql, { instanceId, status, group }: Filter): Found {
  const { organizationId, agentSessionId, grantedUserId } = sql;
  const instance = instanceId === undefined ? undefined : parseId("instance", instanceId);
  if (instance === null) throw notFound("instance");
  if (agentSessionId !== null || grantedUserId !== null) {
    const reached = [agentSessionId ?? grantedUserId, instance ?? null] as const;
    const [listing, count] =
      agentSessionId !== null
        ? [store.newestOfAgent, store.countGroupsOfAgent]
        : [store.newestOfGrants, store.countGroupsOfGrants];
    const counting = query(count, organizationId, store.mostCounted, ...reached, null);
    return { listing, values: [...reached, status ?? null, group ?? null], instance, counting };
  }
  const counting = instance
    ? query(store.countGroupsOfInstance, organizationId, store.mostCounted, instance)
    : query(store.countGroups, organizationId, store.mostCounted);
  const values = instance ? [instance] : [];
  if (group) {
    const listing = store.newestInGroup(group, status, instance !== undefined);
    return { listing, values, instance, counting };
  }
  if (instance && status) {
    const listing = store.newestOfInstanceInStatus;
    return { listing, values: [instance, status], instance, counting };
  }
  if (status) return { listing: store.newestInStatus, values: [status], instance, counting };
  const listing = instance ? store.newestOfInstance : store.newest;
  return { listing, values, instance, counting };
}

/** The person who reads; null for the keys of organizations and of agents. */
const readerOf = ({ scope, userId }: Caller) => (scope === "user" ? userId : null);

function sessionOverview(row: store.OverviewRow): SessionOverview {
  // The state of a log that an earlier version has stored is not dated.
  const isUntouched = row.applied_seq === 0;
  return {
    ...sessionListEntry(row),
    activity: activityOf(row),
    turnStartedAt: row.turn_started_at,
    lastActivityAt: row.last_activity_at ?? (isUntouched ? row.created_at : null),
    lastSeq: row.applied_seq,
    lastOutcome: row.turn_outcome,
    lastOutcomeSeq: row.turn_outcome && row.outcome_seq,
    openRequestCount: row.open_requests,
    oldestRequest:
      row.request_id === null
        ? null
        : {
            requestId: formatId("request", row.request_id),
            type: row.request_type,
            title: row.request_title,
            raisedAt: row.request_raised_at,
          },
    queuedPrompts: isOver(row.status) ? 0 : row.queued_turns.length,
    readSeq: row.read_seq,
    version: row.record_version,
  };
}
