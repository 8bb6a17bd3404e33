// The SQL of requests. Every listing reads one index that ends in `listed_id`, which sorts by the time
// a request was recorded. Pending requests have their own indexes, because they are few among many.
import type {
  AskedPermission,
  AskedQuestion,
  Caller,
  PermissionAnswer,
  RequestRecord,
  SessionStatus,
} from "@hawser/contract";
import { reachableSql } from "../hosts/store.ts";
import { mostSearched } from "../cursor.ts";
import { statement, type Statement } from "../postgres/statement.ts";

export interface RequestRow {
  request_id: string;
  listed_id: string;
  session_id: string;
  instance_id: string;
  type: RequestRecord["type"];
  shown: AskedPermission | AskedQuestion[];
  shown_hash: string;
  rule: string | null;
  status: RequestRecord["status"];
  answer: PermissionAnswer | null;
  answers: string[][] | null;
  answered_by: Caller | null;
  raised_at: string;
  resolved_at: string | null;
  session_status: SessionStatus;
  reachable: boolean;
}

const columns = `r.request_id, r.listed_id, r.session_id, r.instance_id, r.type, r.shown, r.shown_hash, r.rule,
            r.status, r.answer, r.answers, r.answered_by, r.raised_at, r.resolved_at,
            s.status AS session_status, ${reachableSql("r")} AS reachable`;
const joined = `FROM requests r
       JOIN sessions s ON s.organization_id = r.organization_id AND s.session_id = r.session_id`;

export const scopes = { pending: "= 'pending'", resolved: "<> 'pending'", all: undefined } as const;
export type Scope = keyof typeof scopes;

/** The statements of a listing: its rows, those that contain a text, and where a search for one ended. */
export interface Listing {
  rows: Statement<RequestRow>;
  /** The last parameter is the text. PostgreSQL lowers both sides: JavaScript lowers some letters differently. */
  matching: Statement<RequestRow>;
  /** Skips $3 rows. For a constant above its estimate, PostgreSQL would read and sort all rows. */
  end: Statement<{ listed_id: string }>;
}

/** What a person reads of a request: title and detail of a permission, or the questions. */
const shownText = `CASE r.type WHEN 'permission' THEN concat_ws(chr(10), r.shown->>'title', r.shown->>'detail')
               ELSE (SELECT string_agg(question #>> '{}', chr(10))
                       FROM jsonb_path_query(r.shown, '$[*].question') AS question) END`;

/** The newest first. $1 organization, $2 requests before this id, $3 limit, then those of the conditions. */
function newestFirst(scope: Scope, conditions: string, nextParameter: number): Listing {
  const inScope = scopes[scope] ? `AND r.status ${scopes[scope]}` : "";
  const of = `r.organization_id = $1 AND r.listed_id < $2 ${inScope} ${conditions}`;
  const newest = `ORDER BY r.listed_id DESC`;
  return {
    rows: statement(
      `SELECT ${columns} ${joined} WHERE ${of} AND s.deleted_at IS NULL ${newest} LIMIT $3`,
    ),
    matching: statement(
      `SELECT ${columns}
         FROM (SELECT * FROM requests r WHERE ${of} ${newest} LIMIT ${mostSearched}) r
         JOIN sessions s ON s.organization_id = r.organization_id AND s.session_id = r.session_id
        WHERE s.deleted_at IS NULL AND strpos(lower(${shownText}), (SELECT lower($${nextParameter}::text))) > 0
        ${newest} LIMIT $3`,
    ),
    end: statement(
      `SELECT r.listed_id FROM requests r WHERE ${of} ${newest}
       OFFSET $3 LIMIT 1`,
    ),
  };
}

/**
 * The requests that an agent's key reaches: row-level security hides all others. $4 is the agent's own
 * session, which is older than they are. A null filter matches all.
 */
const reachOfAgent = `AND r.listed_id >= $4
        AND ($5::uuid IS NULL OR r.session_id = $5) AND ($6::uuid IS NULL OR r.instance_id = $6)`;

/** The same for the sessions that were granted to user $4, whose requests are found by their ids. */
const reachOfGrants = `AND r.session_id = ANY (ARRAY(
          SELECT g.session_id FROM session_grants g WHERE g.organization_id = $1 AND g.user_id = $4::uuid))
        AND ($5::uuid IS NULL OR r.session_id = $5) AND ($6::uuid IS NULL OR r.instance_id = $6)`;

const listings = (scope: Scope) => ({
  every: newestFirst(scope, "", 4),
  ofSession: newestFirst(scope, "AND r.session_id = $4", 5),
  ofInstance: newestFirst(scope, "AND r.instance_id = $4", 5),
  ofSessionOnInstance: newestFirst(scope, "AND r.session_id = $4 AND r.instance_id = $5", 6),
  ofAgent: newestFirst(scope, reachOfAgent, 7),
  ofGrants: newestFirst(scope, reachOfGrants, 7),
});

export const newest = {
  pending: listings("pending"),
  resolved: listings("resolved"),
  all: listings("all"),
};

const oneRequest = `SELECT ${columns} ${joined}
      WHERE r.organization_id = $1 AND r.request_id = $2 AND s.deleted_at IS NULL`;

export const selectRequest = statement<RequestRow>(oneRequest);

/**
 * Claims a request for one answer, which is stored with it. Of concurrent answers, the row's lock lets
 * one find the request free. The claim of a dead node expires after 10 seconds.
 */
export const claimRequest = statement<{ request_id: string }>(
  `UPDATE requests
      SET answer = $3, answers = $4, answered_by = $5,
          delivering_until = hawser_now() + interval '10 seconds'
    WHERE organization_id = $1 AND request_id = $2 AND status IN ('pending', 'undeliverable')
      AND (delivering_until IS NULL OR delivering_until < hawser_now())
   RETURNING request_id`,
);

/** The agent accepted the answer, whatever the log has reported in the meantime. */
export const noteAnswered = statement(
  `UPDATE requests
      SET status = 'answered', answer = $3, answers = $4, answered_by = $5, delivering_until = NULL,
          resolved_at = CASE WHEN status = 'answered' THEN resolved_at ELSE hawser_now() END
    WHERE organization_id = $1 AND request_id = $2`,
);

/**
 * Stores the answer that did not arrive, unless the log has reported how the request was settled. $3: the host
 * did not answer. If it is connected nevertheless, nothing would report that it is back, so the request stays
 * pending.
 */
export const noteUndeliverable = statement<{ request_id: string }>(
  `UPDATE requests r
      SET status = CASE WHEN stays.pending THEN 'pending' ELSE 'undeliverable' END,
          resolved_at = CASE WHEN stays.pending THEN NULL ELSE hawser_now() END, delivering_until = NULL
     FROM (SELECT $3::boolean AND EXISTS (
             SELECT FROM requests asked
               JOIN instances i ON i.organization_id = asked.organization_id AND i.instance_id = asked.instance_id
              WHERE asked.organization_id = $1 AND asked.request_id = $2 AND i.status = 'online') AS pending) stays
    WHERE r.organization_id = $1 AND r.request_id = $2 AND r.status IN ('pending', 'undeliverable')
   RETURNING r.request_id`,
);

/** Releases a claim: somebody else answered first, or the host refused. */
export const releaseRequest = statement(
  `UPDATE requests SET answer = NULL, answers = NULL, answered_by = NULL, delivering_until = NULL
    WHERE organization_id = $1 AND request_id = $2 AND status IN ('pending', 'undeliverable')`,
);

/** For a session that is over: the first answer is stored, and has no effect. */
export const recordLateAnswer = statement(
  `UPDATE requests
      SET status = 'undeliverable', answer = $3, answers = $4, answered_by = $5,
          resolved_at = hawser_now(), delivering_until = NULL
    WHERE organization_id = $1 AND request_id = $2 AND status <> 'answered' AND answered_by IS NULL`,
);

/** $2 sessions. */
export const withdrawRequestsOf = statement<{ request_id: string }>(
  `UPDATE requests
      SET status = 'withdrawn', answer = NULL, answers = NULL, answered_by = NULL,
          resolved_at = hawser_now(), delivering_until = NULL
    WHERE organization_id = $1 AND session_id = ANY ($2::uuid[]) AND status = 'pending'
   RETURNING request_id`,
);

/** $2 sessions. */
export const deleteRequestsOf = statement(
  `DELETE FROM requests WHERE organization_id = $1 AND session_id = ANY ($2::uuid[])`,
);

export const deleteRequestsOfInstance = statement(
  `DELETE FROM requests WHERE organization_id = $1 AND instance_id = $2`,
);
