// The SQL of turns that are continued. A row belongs to the node with the highest fence: each write of a step names
// the fence, and is a no-op if another node has picked the row up since.
import type { AgentKind, FallbackEntry } from "@hawser/contract";
import type { CallingSchedule } from "../dispatch/caller.ts";
import { systemStatement } from "../postgres/statement.ts";
import { hasPassedSql, sessionStateSql, type SessionState } from "../schedules/run-store.ts";
import type { PassedOver } from "./next-kind.ts";

export interface ContinuationRow {
  organization_id: string;
  session_id: string;
  turn_id: string;
  continuation_id: string;
  fence: number;
  step: "fork" | "prompt";
  /** What a host may have been asked for in this step. */
  asked: AgentKind | "prompt" | null;
  passed_over: PassedOver[];
  fork_id: string | null;
  /** The key that began the turn; null if it is not recorded, or not yet. */
  api_key_id: string | null;
  schedule: CallingSchedule | null;
  /** Since the turn failed. */
  age_seconds: number;
  /** Since a host was first asked for the present step; 0 if none was. */
  asked_seconds: number;
  /** How many calls reached their host too late. */
  late_calls: number;
}

/** How long a node may work on a row without renewing its lease. */
const lease = `hawser_now() + interval '15 seconds'`;
const isDue = `c.step <> 'ended' AND ${hasPassedSql("c.try_at")} AND ${hasPassedSql("c.lease_until")}`;
const sameTurn = (one: string, other: string) =>
  ["organization_id", "session_id", "turn_id"]
    .map((column) => `${one}.${column} = ${other}.${column}`)
    .join(" AND ");

/** $1 node, $2 how many. The organizations take turns, so that one with many rows delays no other. */
export const pickUp = systemStatement<ContinuationRow>(
  "pick up turns to continue",
  `WITH to_do AS (
     SELECT c.organization_id, c.session_id, c.turn_id,
            row_number() OVER (PARTITION BY c.organization_id ORDER BY c.try_at) AS place
       FROM turn_continuations c WHERE ${isDue}),
   free AS MATERIALIZED (
     SELECT c.organization_id, c.session_id, c.turn_id
       FROM to_do JOIN turn_continuations c ON ${sameTurn("c", "to_do")}
      WHERE ${isDue}
      ORDER BY to_do.place LIMIT $2
        FOR UPDATE OF c SKIP LOCKED),
   held AS (
     UPDATE turn_continuations c SET holder = $1, fence = c.fence + 1, lease_until = ${lease}
       FROM free WHERE ${sameTurn("c", "free")}
     RETURNING c.*)
   SELECT held.organization_id, held.session_id, held.turn_id, held.continuation_id, held.fence, held.step,
          held.asked, held.passed_over, held.fork_id, k.api_key_id, k.schedule,
          extract(epoch FROM hawser_now() - held.created_at)::float8 AS age_seconds,
          coalesce(extract(epoch FROM hawser_now() - held.first_asked_at), 0)::float8 AS asked_seconds, held.late_calls
     FROM held LEFT JOIN turn_keys k ON ${sameTurn("k", "held")}`,
);

/** $1 organizations, $2 sessions, $3 turns, $4 fences. */
export const renewLeases = systemStatement(
  "renew the leases of the turns that a node continues",
  `WITH free AS MATERIALIZED (
     SELECT c.organization_id, c.session_id, c.turn_id
       FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[]) AS held (organization_id, session_id, turn_id, fence)
       JOIN turn_continuations c ON ${sameTurn("c", "held")} AND c.fence = held.fence AND c.step <> 'ended'
        FOR NO KEY UPDATE OF c SKIP LOCKED)
   UPDATE turn_continuations c SET lease_until = ${lease} FROM free WHERE ${sameTurn("c", "free")}`,
);

export interface OriginalRow extends SessionState {
  agent_kind: AgentKind;
  /** The kinds of the session and of those that it continues. */
  used_kinds: AgentKind[];
  /** How many forks came before it. The kinds are what the host reports, and a host may lie. */
  depth: number;
  fallback_chain: FallbackEntry[];
}

/** $1 organization, $2 session. */
export const selectOriginal = systemStatement<OriginalRow>(
  "read the session of a turn to continue",
  `WITH RECURSIVE line AS (
     SELECT session_id, agent_kind, forked_from, 0 AS depth FROM sessions
      WHERE organization_id = $1 AND session_id = $2
     UNION ALL
     SELECT s.session_id, s.agent_kind, s.forked_from, line.depth + 1
       FROM line JOIN sessions s ON s.organization_id = $1 AND s.session_id = line.forked_from
        AND (s.continuation ->> 'forkId')::uuid = line.session_id
      WHERE line.depth < 10)
   SELECT ${sessionStateSql}, s.agent_kind, i.fallback_chain,
          (SELECT array_agg(DISTINCT line.agent_kind) FROM line) AS used_kinds,
          (SELECT max(line.depth) FROM line) AS depth
     FROM sessions s JOIN instances i ON i.organization_id = s.organization_id AND i.instance_id = s.instance_id
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL AND i.deleted_at IS NULL`,
);

/** $1 organization, $2 session. */
export const selectFork = systemStatement<SessionState>(
  "read the state of a session that continues a turn",
  `SELECT ${sessionStateSql} FROM sessions s
    WHERE s.organization_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL`,
);

const held = `c.organization_id = $1 AND c.session_id = $2 AND c.turn_id = $3 AND c.fence = $4 AND c.step <> 'ended'`;

/** $5 the kind of the fork, or "prompt". Write it before a host is asked. No row if another node works on the turn. */
export const noteAsked = systemStatement<{ fence: number }>(
  "record that the continuation of a turn asks a host",
  `UPDATE turn_continuations c
      SET asked = $5, first_asked_at = coalesce(c.first_asked_at, hawser_now())
    WHERE ${held} RETURNING c.fence`,
);

/** $5 JSON array with the kind, the code and the message. */
export const passOver = systemStatement<{ fence: number }>(
  "record that the continuation of a turn passes over a kind",
  `UPDATE turn_continuations c
      SET passed_over = c.passed_over || $5::jsonb, asked = NULL, first_asked_at = NULL
    WHERE ${held} RETURNING c.fence`,
);

/** The longer it has been tried, the longer the pause. */
const pauseSql = `lease_until = hawser_now(), holder = NULL,
          try_at = hawser_now() + greatest(interval '1 second', least(interval '30 seconds',
                     (hawser_now() - c.created_at) / 4))`;

export const tryLater = systemStatement(
  "try to continue a turn again later",
  `UPDATE turn_continuations c SET ${pauseSql} WHERE ${held}`,
);

/** For a call that reached its host too late, so that nothing was done. The next one is a call of its own. */
export const callAnew = systemStatement(
  "let the continuation of a turn make a new call",
  `UPDATE turn_continuations c SET late_calls = c.late_calls + 1, asked = NULL, ${pauseSql} WHERE ${held}`,
);

/** For a turn whose key is not recorded: it was no prompt, or it was sent before the organization wanted this. */
export const forget = systemStatement(
  "forget a turn that is not continued",
  `DELETE FROM turn_continuations c WHERE ${held}`,
);

/** Shows in the session's record what a statement named `moved` has changed. */
const shown = `UPDATE sessions s
      SET continuation = jsonb_build_object('turnId', moved.turn_id, 'forkId', moved.fork_id, 'problem', moved.problem)
     FROM moved
    WHERE s.organization_id = moved.organization_id AND s.session_id = moved.session_id
   RETURNING s.session_id`;

/** $5 fork. */
export const noteForked = systemStatement<{ session_id: string }>(
  "record the session that continues a turn",
  `WITH moved AS (
     UPDATE turn_continuations c
        SET step = 'prompt', fork_id = $5, asked = NULL, first_asked_at = NULL
      WHERE ${held} AND c.step = 'fork' RETURNING c.*)
   ${shown}`,
);

/**
 * $5 turn of the fork, $6 schedule whose run the turn belongs to; null for none. The run continues with the fork's
 * turn, and keeps what the original has cost.
 */
export const notePrompted = systemStatement(
  "record that a turn is continued",
  `WITH done AS (
     UPDATE turn_continuations c SET step = 'ended', asked = NULL, holder = NULL
      WHERE ${held} AND c.step = 'prompt' RETURNING c.*)
   UPDATE schedule_runs r
      SET session_id = done.fork_id, turn_id = $5, cost_usd = coalesce(r.cost_usd + s.cost_usd, s.cost_usd, r.cost_usd)
     FROM done
     JOIN sessions s ON s.organization_id = done.organization_id AND s.session_id = done.session_id
    WHERE r.organization_id = done.organization_id AND r.schedule_id = $6::uuid
      AND r.session_id = done.session_id AND r.turn_id = done.turn_id AND r.step = 'watch'`,
);

/** $5 why the turn does not continue. */
export const endWithProblem = systemStatement<{ session_id: string }>(
  "record why a turn does not continue",
  `WITH moved AS (
     UPDATE turn_continuations c SET step = 'ended', problem = $5, asked = NULL, holder = NULL
      WHERE ${held} RETURNING c.*)
   ${shown}`,
);

const keptFor = `interval '30 days'`;

/** Some at a time; returns those that it has deleted. */
export const deleteOldContinuations = systemStatement<{ turn_id: string }>(
  "delete old continuations of turns",
  `DELETE FROM turn_continuations WHERE (organization_id, session_id, turn_id) IN (
     SELECT organization_id, session_id, turn_id FROM turn_continuations
      WHERE created_at < hawser_now() - ${keptFor} LIMIT 1000)
   RETURNING turn_id`,
);

/** Some at a time; returns those that it has deleted. */
export const deleteOldTurnKeys = systemStatement<{ turn_id: string }>(
  "delete old keys of turns",
  `DELETE FROM turn_keys WHERE (organization_id, session_id, turn_id) IN (
     SELECT organization_id, session_id, turn_id FROM turn_keys
      WHERE created_at < hawser_now() - ${keptFor} LIMIT 1000)
   RETURNING turn_id`,
);
