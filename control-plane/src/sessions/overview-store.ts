// The SQL of overviews: pages of sessions with what they do, which of their requests are open and what the caller has
// read. Each listing reads an index that ends in the session's id, whatever the number of sessions in other groups.
import {
  SessionStatus,
  type RequestRecord,
  type SessionCounts,
  type SessionGroup,
} from "@hawser/contract";
import { statement, type Statement } from "../postgres/statement.ts";
import { isAtWorkSql, mayBeAtWorkSql } from "./activity.ts";
import { isOver, isOverSql } from "./lifecycle.ts";
import * as store from "./store.ts";

export interface OverviewRow extends store.SessionWork {
  turn_started_at: string | null;
  last_activity_at: string | null;
  outcome_seq: number | null;
  record_version: string;
  /** At most `mostRequests`. */
  open_requests: number;
  /** Null if no request is open. */
  request_id: string | null;
  request_type: RequestRecord["type"];
  request_title: string | null;
  request_raised_at: string;
  /** Null if the caller is not a person. */
  read_seq: number | null;
}

/** How many open requests of a session are counted. */
const mostRequests = 100;
/** How many sessions of a group are counted. */
export const mostCounted = 1_000;
/** Characters of a request's title. */
const longestTitle = 200;

/** The requests of session `s` that can be answered. */
const openRequests = `requests r
       WHERE r.organization_id = s.organization_id AND r.session_id = s.session_id
         AND r.status IN ('pending', 'undeliverable') AND NOT ${isOverSql("s.status")}`;

/** Without LIMIT in a subquery of its own, PostgreSQL could read all requests to compare them with all sessions. */
const isWaitingSql = `((SELECT true FROM ${openRequests} LIMIT 1) IS NOT NULL)`;

const groupSql = `CASE WHEN ${isOverSql("s.status")} THEN 'ended' WHEN ${isWaitingSql} THEN 'waiting'
       WHEN ${isAtWorkSql} THEN 'running' ELSE 'idle' END`;

/** `reader` is the parameter with the user who has read. Requests are read for the rows of the page alone. */
const overviewsOf = (page: string, reader: string) =>
  statement<OverviewRow>(
    `SELECT ${store.listColumns}, s.activity, s.turn_outcome, s.queued_turns, s.running_shells, s.applied_seq,
            s.turn_started_at, s.last_activity_at, s.outcome_seq, ${store.recordVersionSql} AS record_version,
            (SELECT count(*)::int FROM (SELECT FROM ${openRequests} LIMIT ${mostRequests}) counted) AS open_requests,
            oldest.request_id, oldest.type AS request_type, oldest.title AS request_title,
            oldest.raised_at AS request_raised_at,
            CASE WHEN ${reader}::uuid IS NOT NULL THEN
              coalesce((SELECT d.seq FROM session_reads d
                         WHERE d.organization_id = $1 AND d.session_id = s.session_id AND d.user_id = ${reader}), 0)
            END AS read_seq
       FROM (${page}) s
       LEFT JOIN LATERAL (
         SELECT r.request_id, r.type, r.raised_at,
                left(CASE r.type WHEN 'permission' THEN r.shown->>'title' ELSE r.shown->0->>'question' END,
                     ${longestTitle}) AS title
           FROM ${openRequests} ORDER BY r.listed_id LIMIT 1) oldest ON true
      ORDER BY s.session_id DESC`,
  );

/** The statements of a listing: its rows, those that a search looks for, and where a search for one ended. */
export interface Listing {
  rows: Statement<OverviewRow>;
  /**
   * The parameters after the reader are the text, how many sessions are looked at, the agent kind and who started
   * them; null matches all. PostgreSQL lowers both sides: JavaScript lowers some letters differently.
   */
  matching: Statement<OverviewRow>;
  /** Skips $3 rows. */
  end: Statement<{ session_id: string }>;
}

/**
 * The newest sessions to which `bounds` and one of the conditions apply. Each condition has an index of its own. The
 * limit is a parameter: for a constant above its estimate, PostgreSQL would read and sort all rows.
 */
function newestOf(conditions: readonly string[], bounds: string, limit: string): string {
  const newest = `ORDER BY s.session_id DESC LIMIT ${limit}`;
  const found = conditions.map(
    (condition) =>
      `SELECT * FROM sessions s WHERE s.organization_id = $1 AND s.deleted_at IS NULL ${bounds} ${condition} ${newest}`,
  );
  if (found.length === 1) return found[0]!;
  return `SELECT * FROM (${found.map((each) => `(${each})`).join(" UNION ALL ")}) s ${newest}`;
}

/**
 * The newest first. $1 organization, $2 sessions older than this id, $3 limit, then `count` parameters of the
 * conditions, then the user who has read.
 */
function newestFirst(conditions: readonly string[], count: number): Listing {
  const page = (limit: string) => newestOf(conditions, "AND s.session_id < $2", limit);
  const reader = `$${4 + count}`;
  const text = `(SELECT lower($${5 + count}::text))`;
  const window = `$${6 + count}`;
  const [kind, starter] = [`$${7 + count}`, `$${8 + count}`];
  return {
    rows: overviewsOf(page("$3"), reader),
    matching: overviewsOf(
      `SELECT * FROM (${page(window)}) s
        WHERE strpos(lower(concat_ws(chr(10), s.title, s.worktree_branch, s.directory)), ${text}) > 0
          AND (${kind}::text IS NULL OR s.agent_kind = ${kind})
          AND (${starter}::text IS NULL OR s.started_by->>'id' = ${starter})
        ORDER BY s.session_id DESC LIMIT $3`,
      reader,
    ),
    end: statement(
      `SELECT s.session_id FROM (${page("$3::bigint + 1")}) s ORDER BY s.session_id DESC OFFSET $3 LIMIT 1`,
    ),
  };
}

export const newest = newestFirst([""], 0);
export const newestOfInstance = newestFirst(["AND s.instance_id = $4"], 1);
export const newestInStatus = newestFirst(["AND s.status = $4"], 1);
export const newestOfInstanceInStatus = newestFirst(
  ["AND s.instance_id = $4 AND s.status = $5"],
  2,
);

/** For callers who reach few sessions. $7 is the group; null matches all. */
const ofGroup = `AND ($7::text IS NULL OR ${groupSql} = $7)`;
export const newestOfAgent = newestFirst([`${store.reachOfAgent(4)} ${ofGroup}`], 4);
export const newestOfGrants = newestFirst([`${store.reachOfGrants(4)} ${ofGroup}`], 4);

/**
 * The conditions for the sessions of a group, of which one applies to each. Those at rest and those that are over are
 * found by their status.
 */
function conditionsOf(group: SessionGroup, status: SessionStatus | undefined): string[] {
  const isOfStatus = status ? `AND s.status = '${status}'` : "";
  const statuses = SessionStatus.options.filter(
    (each) => isOver(each) === (group === "ended") && (status ?? each) === each,
  );
  const ofStatuses = statuses.map((each) => `AND s.status = '${each}'`);
  switch (group) {
    case "waiting":
      return [
        `${isOfStatus} AND NOT ${isOverSql("s.status")} AND s.session_id = ANY (ARRAY(
          SELECT DISTINCT r.session_id FROM requests r
           WHERE r.organization_id = $1 AND r.status IN ('pending', 'undeliverable')))`,
      ];
    case "running":
      return [`${isOfStatus} AND ${mayBeAtWorkSql} AND ${isAtWorkSql} AND NOT ${isWaitingSql}`];
    case "idle":
      return ofStatuses.map(
        (ofStatus) => `${ofStatus} AND NOT ${isAtWorkSql} AND NOT ${isWaitingSql}`,
      );
    default:
      return ofStatuses;
  }
}

const ofGroups = new Map<string, Listing>();

/** $4 is the instance, if the listing is of one. Made when it is first needed: there are many combinations. */
export function newestInGroup(
  group: SessionGroup,
  status: SessionStatus | undefined,
  isOfInstance: boolean,
): Listing {
  const key = `${group} ${status ?? ""} ${isOfInstance}`;
  let listing = ofGroups.get(key);
  if (!listing) {
    const ofInstance = isOfInstance ? "AND s.instance_id = $4" : "";
    const conditions = conditionsOf(group, status).map((each) => `${ofInstance} ${each}`);
    listing = newestFirst(
      conditions.length > 0 ? conditions : [`${ofInstance} AND false`],
      isOfInstance ? 1 : 0,
    );
    ofGroups.set(key, listing);
  }
  return listing;
}

const groups: readonly SessionGroup[] = ["waiting", "running", "idle", "ended"];

/** $2 is how many are counted of each. */
function countingOf(ofInstance: string): Statement<SessionCounts> {
  const counts = groups.map((group) => {
    const found = newestOf(conditionsOf(group, undefined), ofInstance, "$2");
    return `(SELECT count(*)::int FROM (${found}) counted) AS ${group}`;
  });
  return statement(`SELECT ${counts.join(", ")}`);
}

export const countGroups = countingOf("");
export const countGroupsOfInstance = countingOf("AND s.instance_id = $3");

function countingReached(reach: string): Statement<SessionCounts> {
  const counts = groups.map(
    (group) => `least(count(*) FILTER (WHERE reached.found = '${group}'), $2)::int AS ${group}`,
  );
  return statement(
    `SELECT ${counts.join(", ")}
       FROM (SELECT ${groupSql} AS found FROM sessions s
              WHERE s.organization_id = $1 AND s.deleted_at IS NULL ${reach}) reached`,
  );
}

export const countGroupsOfAgent = countingReached(store.reachOfAgent(3));
export const countGroupsOfGrants = countingReached(store.reachOfGrants(3));
