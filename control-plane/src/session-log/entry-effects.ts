// The state that log entries cause, written in the transaction that stores them, so that the log and
// the record never differ. Most entries cause nothing, and cost nothing here.
//
// An entry whose content is not understood is stored and causes nothing.
import { parseId, readUpdate, type SessionUpdate } from "@hawser/contract";
import type { ModelChoice, SessionStatus } from "@hawser/contract";
import { lockInstances } from "../hosts/store.ts";
import type { SystemTransaction } from "../postgres/database.ts";
import { raiseRequests, settleRequests } from "../requests/log-store.ts";
import { setStates, setStatuses } from "./effect-store.ts";
import { boundFallback } from "../sessions/bound-fallback.ts";
import { shortened } from "../postgres/shortened.ts";
import { statusAfter } from "../sessions/lifecycle.ts";
import { insertUsedUp } from "./used-up-store.ts";

const effectNames = [
  "session_status",
  "turn_started",
  "turn_finished",
  "prompt_queued",
  "prompt_dropped",
  "shell_started",
  "shell",
  "request_raised",
  "request_settled",
  "usage_update",
  "session_info_update",
  "session_placed",
  "mode_changed",
  "config_trusted",
  "fallback_taken",
  "account_used",
  "session_shared",
] as const;
const effective: ReadonlySet<string> = new Set(effectNames);

export type Effect = Extract<SessionUpdate, { sessionUpdate: (typeof effectNames)[number] }>;

/** The effect of an entry; undefined for most. */
export function effectOf(update: { sessionUpdate: string }): Effect | undefined {
  if (!effective.has(update.sessionUpdate)) return undefined;
  return readUpdate(update) as Effect | undefined;
}

/** A session's new entries that have an effect, in their order. */
export interface CausingEntries {
  organizationId: string;
  instanceId: string;
  sessionId: string;
  status: SessionStatus;
  effects: { effect: Effect; seq: number; at: string; turnId: string | null }[];
}

/** The requests that were raised or settled, by session. Ids are those that callers see. */
export type ChangedRequests = Map<string, Set<string>>;

/** Sends the statements together with the commit. */
export function applyEffects(
  tx: SystemTransaction,
  sessions: readonly CausingEntries[],
): ChangedRequests {
  const statuses: object[] = [];
  const states: object[] = [];
  const usedUp: object[] = [];
  const requests = createRequestFold();
  const moved: CausingEntries[] = [];
  for (const session of sessions) {
    const { organizationId, sessionId } = session;
    const key = { organization_id: organizationId, session_id: sessionId };
    const { status, state, usedUpTurn } = fold(session);
    requests.add(session);
    if (status) {
      statuses.push({ ...key, ...status });
      moved.push(session);
    }
    states.push({ ...key, ...state });
    if (usedUpTurn !== undefined) usedUp.push({ ...key, turn_id: usedUpTurn });
  }
  if (states.length === 0) return new Map();
  const { raised, settled, changed } = requests.rows();
  if (raised.length > 0) tx.later(raiseRequests, JSON.stringify(raised));
  if (settled.length > 0) tx.later(settleRequests, JSON.stringify(settled));
  if (statuses.length > 0) {
    // A changed status changes the session count of its instance. Lock instances in the order of ids,
    // so that transactions cannot deadlock.
    tx.later(
      lockInstances,
      moved.map(({ organizationId }) => organizationId),
      moved.map(({ instanceId }) => instanceId),
    );
    tx.later(setStatuses, JSON.stringify(statuses));
  }
  tx.later(setStates, JSON.stringify(states));
  if (usedUp.length > 0) tx.later(insertUsedUp, JSON.stringify(usedUp));
  return changed;
}

interface State {
  activity: "idle" | "running" | null;
  /** The session has started. */
  begun: boolean;
  turn_moved: boolean;
  turn_id: string | null;
  turn_outcome: string | null;
  /** The entry that ended the turn. */
  outcome_seq: number | null;
  turn_started_at: string | null;
  last_activity_at: string;
  queued: string[] | null;
  unqueued: string[] | null;
  shells_started: string[] | null;
  shells_ended: string[] | null;
  model: object | null;
  usage: object | null;
  cost_usd: number | null;
  cost_is_estimate: boolean | null;
  title: string | null;
  directory: string | null;
  worktree_branch: string | null;
  capabilities: string[] | null;
  mode: string | null;
  trusted_parts: string[] | null;
  agent_kind: string | null;
  fallback: object | null;
  account_user_id: string | null;
  /** Whether `shared_with` counts, of which null means every member. */
  sharing_moved: boolean;
  shared_with: string[] | null;
}

interface StatusChange {
  status: SessionStatus;
  status_reason: string | null;
  status_message: string | null;
}

/** Combines one session's entries, in their order. */
function fold({ status: before, effects }: CausingEntries) {
  let current = before;
  let status: StatusChange | undefined;
  const state: State = {
    activity: null,
    begun: false,
    turn_moved: false,
    turn_id: null,
    turn_outcome: null,
    outcome_seq: null,
    turn_started_at: null,
    last_activity_at: effects.at(-1)!.at,
    queued: null,
    unqueued: null,
    shells_started: null,
    shells_ended: null,
    model: null,
    usage: null,
    cost_usd: null,
    cost_is_estimate: null,
    title: null,
    directory: null,
    worktree_branch: null,
    capabilities: null,
    mode: null,
    trusted_parts: null,
    agent_kind: null,
    fallback: null,
    account_user_id: null,
    sharing_moved: false,
    shared_with: null,
  };
  /** The first turn that a used-up quota ended: a session is continued once. */
  let usedUpTurn: string | undefined;
  const move = (
    next: SessionStatus | undefined,
    reason: string | null = null,
    message: string | null = null,
  ) => {
    if (!next) return;
    current = next;
    status = { status: next, status_reason: reason, status_message: message };
  };
  for (const { effect, seq, at, turnId } of effects) {
    switch (effect.sessionUpdate) {
      case "session_status":
        move(
          statusAfter(current, `reported_${effect.status}`),
          // Daemons before the word sent only the sentence.
          shortened(effect.code ?? (effect.reason === null ? null : "reported"), longestName),
          shortened(effect.reason, longestText),
        );
        if (effect.status === "active") state.begun = true;
        else state.activity = "idle";
        break;
      case "turn_started":
        move(statusAfter(current, "turn_started"));
        state.activity = "running";
        state.turn_moved = true;
        state.turn_id = turnId;
        state.turn_outcome = null;
        state.turn_started_at = at;
        if (turnId) (state.unqueued ??= []).push(turnId);
        state.model = modelOf(effect) ?? state.model;
        break;
      case "turn_finished":
        state.activity = "idle";
        state.turn_moved = true;
        state.turn_id = turnId ?? state.turn_id;
        state.turn_outcome = effect.outcome;
        state.outcome_seq = seq;
        if (effect.cause === "quota" && turnId) usedUpTurn ??= turnId;
        break;
      case "prompt_queued":
        (state.queued ??= []).push(shortened(effect.turnId, longestName));
        break;
      case "prompt_dropped":
        (state.unqueued ??= []).push(shortened(effect.turnId, longestName));
        break;
      case "shell_started":
        (state.shells_started ??= []).push(shortened(effect.shellId, longestName));
        break;
      case "shell":
        (state.shells_ended ??= []).push(shortened(effect.shellId, longestName));
        break;
      case "usage_update":
        state.usage = effect.usage;
        state.cost_usd = effect.costUsd;
        state.cost_is_estimate = effect.costIsEstimate;
        break;
      case "session_info_update":
        state.title = shortened(effect.title || null, longestName) ?? state.title;
        break;
      case "session_placed":
        state.directory = shortened(effect.directory, longestText);
        state.worktree_branch = shortened(effect.worktreeBranch, longestText);
        state.capabilities = [...new Set(effect.capabilities)];
        state.model = modelOf(effect) ?? state.model;
        break;
      case "mode_changed":
        state.mode = effect.mode;
        break;
      case "config_trusted":
        state.trusted_parts = [...new Set(effect.parts)];
        break;
      case "fallback_taken":
        state.agent_kind = effect.kind;
        state.fallback = boundFallback(effect);
        break;
      case "account_used":
        state.account_user_id = parseId("user", effect.userId) ?? null;
        break;
      case "session_shared":
        state.sharing_moved = true;
        state.shared_with =
          effect.userIds?.slice(0, mostShared).flatMap((id) => parseId("user", id) ?? []) ?? null;
        break;
      default:
    }
  }
  return { status, state, usedUpTurn };
}

/** Limits of titles and ids, and of other texts, in characters. No path is longer than the second. */
const longestName = 200;
const longestText = 4_096;
/** Members that a session is shared with. */
const mostShared = 100;

function modelOf({ model }: Of<"turn_started"> | Of<"session_placed">): ModelChoice | null {
  return (
    model && {
      providerId: shortened(model.providerId, longestName),
      modelId: shortened(model.modelId, longestName),
    }
  );
}

type Of<Name> = Extract<Effect, { sessionUpdate: Name }>;

interface RequestEntries {
  session: CausingEntries;
  shownId: string;
  raised?: { effect: Of<"request_raised">; seq: number; at: string };
  settled?: { effect: Of<"request_settled">; seq: number; at: string };
}

/** Combines the entries about each request, because a statement can change a row only once. */
function createRequestFold() {
  const byRequest = new Map<string, RequestEntries>();
  return {
    add(session: CausingEntries): void {
      for (const { effect, seq, at } of session.effects) {
        if (effect.sessionUpdate !== "request_raised" && effect.sessionUpdate !== "request_settled")
          continue;
        const requestId = parseId("request", effect.requestId);
        if (!requestId || !isComplete(effect)) continue;
        const key = `${session.organizationId} ${requestId}`;
        const known = byRequest.get(key) ?? { session, shownId: effect.requestId };
        // Skip a request that another session of this group has already named: it belongs to that
        // session.
        if (known.session !== session) continue;
        byRequest.set(
          key,
          effect.sessionUpdate === "request_raised"
            ? { session, shownId: effect.requestId, raised: { effect, seq, at } }
            : { ...known, settled: { effect, seq, at } },
        );
      }
    },
    rows() {
      const changed: ChangedRequests = new Map();
      const raised: object[] = [];
      const settled: object[] = [];
      for (const [key, request] of byRequest) {
        const { organizationId, sessionId, instanceId } = request.session;
        const ids = changed.get(sessionId) ?? new Set();
        changed.set(sessionId, ids.add(request.shownId));
        const row = {
          organization_id: organizationId,
          request_id: key.slice(organizationId.length + 1),
          session_id: sessionId,
        };
        if (request.raised) {
          const { effect, seq, at } = request.raised;
          raised.push({
            ...row,
            instance_id: instanceId,
            type: effect.type,
            shown: effect.type === "permission" ? effect.permission : effect.questions,
            shown_hash: effect.shownHash,
            rule: effect.rule ?? null,
            raised_at: at,
            log_seq: seq,
          });
        }
        if (request.settled) {
          const { effect, seq, at } = request.settled;
          const { outcome: status, answer, answers } = effect;
          settled.push({ ...row, status, answer, answers, resolved_at: at, log_seq: seq });
        }
      }
      return { raised, settled, changed };
    },
  };
}

function isComplete(effect: Of<"request_raised"> | Of<"request_settled">): boolean {
  if (effect.sessionUpdate === "request_settled") return true;
  return (effect.type === "permission" ? effect.permission : effect.questions) !== null;
}
