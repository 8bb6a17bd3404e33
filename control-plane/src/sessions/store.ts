// The SQL of sessions. Every listing reads one index that starts with the organization and ends in the
// session's id, which sorts by creation time, so every page costs the same.
import type {
  AgentKind,
  AgentPolicy,
  Capability,
  Fallback,
  FallbackEntry,
  InstanceRecord,
  InstanceStatus,
  ModelChoice,
  SessionActivity,
  SessionMode,
  SessionStatus,
  Starter,
  TrustedPart,
  TrustedRepository,
  TurnOutcome,
  Usage,
} from "@hawser/contract";
import { reachableSql } from "../hosts/store.ts";
import { statement } from "../postgres/statement.ts";
import { isOverSql, movedBySql, statusAfterSql } from "./lifecycle.ts";

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
  /** A stable word. */
  status_reason: string | null;
  status_message: string | null;
  reachable: boolean;
  cost_usd: number | null;
  cost_is_estimate: boolean;
  started_by: Starter;
  forked_from: string | null;
  created_at: string;
  ended_at: string | null;
}

export const listColumns = `s.session_id, s.instance_id, s.title, s.agent_kind, s.directory, s.worktree_branch,
            s.status, s.status_reason, s.status_message, ${reachableSql("s")} AS reachable, s.cost_usd, s.cost_is_estimate,
            s.started_by, s.forked_from, s.created_at, s.ended_at`;

/** The newest first. $1 organization, $2 sessions older than this id, $3 limit, then those of the conditions. */
const newestFirst = (conditions: string) =>
  statement<SessionListRow>(
    `SELECT ${listColumns} FROM sessions s
      WHERE s.organization_id = $1 AND s.session_id < $2 AND s.deleted_at IS NULL ${conditions}
      ORDER BY s.session_id DESC LIMIT $3`,
  );

export const newest = newestFirst("");
export const newestOfInstance = newestFirst("AND s.instance_id = $4");
export const newestInStatus = newestFirst("AND s.status = $4");
export const newestOfInstanceInStatus = newestFirst("AND s.instance_id = $4 AND s.status = $5");

/** The filters, by their places among the parameters. A null filter matches all. */
const filtered = (instance: number, status: number) =>
  `AND ($${instance}::uuid IS NULL OR s.instance_id = $${instance}) AND ($${status}::text IS NULL OR s.status = $${status})`;

/**
 * The sessions that an agent's key reaches: row-level security hides all others. The parameters begin at
 * `first`: the agent's own session, which is the oldest of them, so that older ones are not read, and the filters.
 */
export const reachOfAgent = (first: number) =>
  `AND s.session_id >= $${first} ${filtered(first + 1, first + 2)}`;

/**
 * The sessions that were granted to a user; row-level security hides those whose level is too low. Without the
 * list of ids, PostgreSQL would read all sessions to find them. The parameters begin at `first`: the user, and
 * the filters.
 */
export const reachOfGrants = (first: number) => `AND s.session_id = ANY (ARRAY(
     SELECT g.session_id FROM session_grants g WHERE g.organization_id = $1 AND g.user_id = $${first}::uuid))
   ${filtered(first + 1, first + 2)}`;

export const newestOfAgent = newestFirst(reachOfAgent(4));
export const newestOfGrants = newestFirst(reachOfGrants(4));

/** Hides the sessions of an instance, together with the instance itself. */
export const deleteSessionsOfInstance = statement(
  `UPDATE sessions SET deleted_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);

/** What the log says about a session's work. */
export interface SessionWork extends SessionListRow {
  activity: Exclude<SessionActivity, "unknown">;
  turn_outcome: TurnOutcome | null;
  queued_turns: string[];
  running_shells: string[];
  applied_seq: number;
}

export interface SessionRow extends SessionWork {
  mode: SessionMode;
  /** The widest mode that the organization allows. */
  highest_mode: SessionMode;
  model: ModelChoice | null;
  usage: Usage | null;
  capabilities: Capability[];
  fallback: Fallback | null;
  trusted_parts: TrustedPart[];
  /** Whose agent account it uses; null: the host's own. */
  account_user_id: string | null;
  /** The name of that user; null if they have left since the session was started, even if they joined again. */
  account_user_name: string | null;
  /** Members who may prompt it besides the owner of its account; null: every member. */
  shared_with: { user_id: string; name: string }[] | null;
  continuation: ContinuationRow | null;
  turn_id: string | null;
}

/** What became of a turn that a used-up quota ended. */
export interface ContinuationRow {
  turnId: string;
  /** Stored id of the session that continues it. */
  forkId: string | null;
  problem: string | null;
}

const recordColumns = `${listColumns}, s.mode, s.model, s.usage, s.capabilities, s.fallback, s.trusted_parts,
            s.account_user_id,
            CASE WHEN s.account_user_id IS NOT NULL THEN
              (SELECT coalesce(m.name, m.email) FROM memberships m
                WHERE m.organization_id = s.organization_id AND m.user_id = s.account_user_id
                  AND m.created_at <= s.created_at) END AS account_user_name,
            CASE WHEN s.shared_with = '{}' THEN '[]' WHEN s.shared_with IS NOT NULL THEN
              (SELECT coalesce(jsonb_agg(jsonb_build_object(
                        'user_id', m.user_id, 'name', coalesce(m.name, m.email)) ORDER BY m.user_id), '[]')
                 FROM memberships m
                WHERE m.organization_id = s.organization_id AND m.user_id = ANY (s.shared_with)
                  AND m.created_at <= s.shared_at) END AS shared_with,
            s.continuation`;

/**
 * A hash of the record that callers see, for statements that read `sessions s`. It is computed instead of
 * stored, so that changes of a session cost nothing more.
 */
export const recordVersionSql = `(SELECT hashtextextended(shown::text, 0)::text
               FROM (SELECT ${recordColumns}) AS shown)`;

const sessionColumns = `${recordColumns}, o.highest_mode, s.activity, s.turn_id, s.turn_outcome,
            s.queued_turns, s.running_shells, s.applied_seq`;
const ofOneSession = `
       FROM sessions s
       JOIN organizations o ON o.organization_id = s.organization_id
      WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL`;
const oneSession = `SELECT ${sessionColumns} ${ofOneSession}`;

export const selectSession = statement<SessionRow>(oneSession);

/** `record_version` differs if the record that callers see differs. */
export const selectSessionVersion = statement<SessionRow & { record_version: string }>(
  `SELECT ${sessionColumns}, ${recordVersionSql} AS record_version ${ofOneSession}`,
);

/** Lock the session before its status is changed; the instance's count of sessions changes after it. */
export const lockSession = statement<SessionRow>(`${oneSession} FOR NO KEY UPDATE OF s`);

/** $2 sessions. Locks in the order of ids, so that two transactions that lock several cannot deadlock. */
export const lockSessionsById = statement<SessionRow>(
  `${oneSession.replace("s.session_id = $2", "s.session_id = ANY ($2::uuid[])")}
      ORDER BY s.session_id FOR NO KEY UPDATE OF s`,
);

export interface StartHostRow {
  status: InstanceStatus;
  host_key: string | null;
  agents: InstanceRecord["agents"];
  fallback_chain: FallbackEntry[];
  fallback_threshold: number;
  policy: AgentPolicy;
  trusted_repositories: TrustedRepository[];
  default_mode: SessionMode;
  highest_mode: SessionMode;
  /** The mode of the session whose agent starts this one; null if no agent does. */
  starter_mode: SessionMode | null;
  /** Its directory. */
  starter_directory: string | null;
}

/**
 * The host that a new session is started on, with the organization's policy. $3 is the session of the agent
 * that starts another one; null if no agent does.
 */
export const selectStartHost = statement<StartHostRow>(
  `SELECT i.status, i.host_key, i.agents, i.fallback_chain, i.fallback_threshold, o.default_agent_policy AS policy,
          o.trusted_repositories, o.default_mode, o.highest_mode,
          starter.mode AS starter_mode, starter.directory AS starter_directory
     FROM instances i JOIN organizations o ON o.organization_id = i.organization_id
     LEFT JOIN sessions starter ON starter.organization_id = $1 AND starter.session_id = $3
    WHERE i.organization_id = $1 AND i.instance_id = $2 AND i.deleted_at IS NULL`,
);

/** $2 instance. */
export const selectHostKey = statement<{ host_key: string | null }>(
  `SELECT host_key FROM instances WHERE organization_id = $1 AND instance_id = $2`,
);

export const insertSession = statement<{ session_id: string }>(
  `INSERT INTO sessions (organization_id, instance_id, title, title_given, agent_kind, directory,
                         started_by, mode, activity)
   VALUES ($1, $2, $3::text, $3::text IS NOT NULL, $4, $5, $6, $7, 'starting')
   RETURNING session_id`,
);

/** Stores what the host has created, and corrects the status of a start whose outcome was unknown. */
export const noteStarted = statement(
  `UPDATE sessions
      SET directory = $3, worktree_branch = $4, model = coalesce(model, $5), capabilities = $6::text[],
          mode = coalesce($7, mode), trusted_parts = $8::text[],
          agent_kind = coalesce($9, agent_kind), fallback = coalesce($10, fallback),
          account_user_id = coalesce($11, account_user_id),
          activity = CASE WHEN activity = 'starting' THEN 'idle' ELSE activity END,
          status = CASE WHEN status_reason = 'start_unknown' THEN ${statusAfterSql("started")} ELSE status END,
          status_reason = CASE WHEN status_reason = 'start_unknown' THEN NULL ELSE status_reason END
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL`,
);

/** No-op if the session's log has already reported something. */
export const noteStartUnknown = statement(
  `UPDATE sessions SET status = ${statusAfterSql("start_unknown")}, status_reason = 'start_unknown', status_message = NULL, activity = 'idle'
    WHERE organization_id = $1 AND session_id = $2 AND activity = 'starting' AND ${movedBySql("start_unknown")}`,
);

/** $2 sessions. Cannot be undone. */
export const deleteSessions = statement(
  `UPDATE sessions SET deleted_at = hawser_now()
    WHERE organization_id = $1 AND session_id = ANY ($2::uuid[]) AND deleted_at IS NULL`,
);

/**
 * Deletes the record of a start that the host refused. No-op if a caller has ended the session or is
 * ending it. If the host's log has already reported why the session does not exist, the status has that
 * reason.
 */
export const deleteRefusedStart = statement(
  `UPDATE sessions s SET deleted_at = hawser_now()
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
      AND (NOT ${isOverSql()} OR status = 'ended' AND status_reason IS NOT NULL)
      AND NOT EXISTS (SELECT FROM owed_endings o
                       WHERE o.organization_id = s.organization_id AND o.session_id = s.session_id)`,
);

export const renameSession = statement<{ session_id: string }>(
  `UPDATE sessions SET title = $3, title_given = true
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
   RETURNING session_id`,
);

/**
 * Shows the mode that a host has set, even before the log reports it. $4 is the seq of the log when the host
 * was first asked. No-op if the log has reported a mode since then: another caller may have set it later. Lock
 * the session before, so that this statement sees what the log has reported.
 */
export const setMode = statement(
  `UPDATE sessions SET mode = $3
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
      AND NOT EXISTS (
        SELECT FROM session_log
         WHERE organization_id = $1 AND session_id = $2 AND seq > $4
           AND update ->> 'sessionUpdate' = 'mode_changed')`,
);

/** $3 users; null: every member. For $4 and the lock, see setMode. */
export const setShared = statement(
  `UPDATE sessions SET shared_with = $3::uuid[], shared_at = hawser_now()
    WHERE organization_id = $1 AND session_id = $2 AND deleted_at IS NULL
      AND NOT EXISTS (
        SELECT FROM session_log
         WHERE organization_id = $1 AND session_id = $2 AND seq > $4
           AND update ->> 'sessionUpdate' = 'session_shared')`,
);

/**
 * Limit of a session's lists. A host queues 20 prompts and runs 5 shell commands; the limit keeps the row small
 * whatever a host reports.
 */
export const mostListed = 100;

/**
 * Shows the accepted turn as running, even before the log reports it. $4 is the seq of the log when the
 * host was asked. No-op once the log has reported the turn.
 */
export const recordAcceptedTurn = statement(
  `UPDATE sessions s
      SET model = coalesce($5, s.model),
          activity = CASE WHEN news.is_first THEN 'running' ELSE s.activity END,
          turn_id = CASE WHEN news.is_first THEN $3 ELSE s.turn_id END,
          turn_outcome = CASE WHEN news.is_first THEN NULL ELSE s.turn_outcome END,
          turn_started_at = CASE WHEN news.is_first THEN hawser_now() ELSE s.turn_started_at END
     FROM (SELECT NOT $6::boolean AND NOT EXISTS (
             SELECT FROM session_log
              WHERE organization_id = $1 AND session_id = $2 AND seq > $4 AND turn_id = $3) AS is_first) news
    WHERE s.organization_id = $1 AND s.session_id = $2`,
);

/**
 * Shows the accepted shell command as running, even before the log reports it. $4 is the seq of the log when
 * the host was asked. No-op once the log has reported the command, or if the host has lost what it was asked.
 * Lock the session before, so that this statement sees what the log has reported.
 */
export const recordAcceptedShell = statement(
  `UPDATE sessions SET running_shells = running_shells || $3::text
    WHERE organization_id = $1 AND session_id = $2 AND $3::text <> ALL (running_shells)
      AND cardinality(running_shells) < ${mostListed}
      AND (status_reason IS NULL OR status_reason NOT IN ('journal_lost', 'host_replaced'))
      AND NOT EXISTS (
        SELECT FROM session_log
         WHERE organization_id = $1 AND session_id = $2 AND seq > $4
           AND update ->> 'sessionUpdate' IN ('shell_started', 'shell') AND update ->> 'shellId' = $3)`,
);

/** $5 schedule, if the service calls for one. No-op unless the organization has turns continued. */
export const insertTurnKey = statement(
  `INSERT INTO turn_keys (organization_id, session_id, turn_id, api_key_id, schedule)
   SELECT organization_id, $2, $3, $4, $5 FROM organizations
    WHERE organization_id = $1 AND fallback_mid_turn
   ON CONFLICT DO NOTHING`,
);

/** $2 sessions whose host has cleaned up. */
export const setEnded = statement(
  `UPDATE sessions
      SET status = ${statusAfterSql("cleaned_up")}, status_reason = NULL, status_message = NULL, activity = 'idle',
          ended_at = coalesce(ended_at, hawser_now())
    WHERE organization_id = $1 AND session_id = ANY ($2::uuid[]) AND ${movedBySql("cleaned_up")}`,
);

/** $2 sessions whose host has not cleaned up, $3 why. */
export const setCleanupOwed = statement(
  `UPDATE sessions
      SET status = ${statusAfterSql("cleanup_owed")}, status_reason = $3, status_message = NULL, activity = 'idle'
    WHERE organization_id = $1 AND session_id = ANY ($2::uuid[]) AND ${movedBySql("cleanup_owed")}`,
);
