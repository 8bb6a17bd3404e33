// Continues one turn that a used-up quota ended: forks its session to the next kind of the fallback chain, and prompts
// the fork to go on.
//
// Both are ordinary calls of the key that began the turn. Their idempotency keys contain the row's id, and their
// bodies are made from the row alone. So a turn that two nodes continue, because one died or was too slow, has one
// fork, which gets one prompt.
import { formatId, parseId, type AgentKind, type FallbackEntry } from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import type { ContinuedTurn } from "../dispatch/caller.ts";
import type { Dispatcher } from "../dispatch/dispatcher.ts";
import type { Viewers } from "../events/viewers.ts";
import { isTooLate } from "../fabric/host-asker.ts";
import { lateSuffix, neverInTime, readOwnAnswer, type OwnAnswer } from "../leases/own-answer.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { isOver } from "../sessions/lifecycle.ts";
import { statusMessage } from "../sessions/status-reasons.ts";
import { nextEntry, skippedKinds, whyNoneLeft } from "./next-kind.ts";
import * as store from "./store.ts";

export interface ContinueParts {
  system: SystemSql;
  callerOfKey: Authenticator["callerOfKey"];
  dispatchAs: Dispatcher["dispatchAs"];
  viewers: Viewers;
}

type Row = store.ContinuationRow;
type Accepted = Extract<OwnAnswer, { result: unknown } | { refusal: unknown }>;

/** The call that began the turn may still be recording its key. */
const longestKeySeconds = 60;
/** A host that may have acted is asked again for this long. */
const longestAskSeconds = 10 * 60;
/** A copy of a large clone takes a while, and the fork gets the prompt after that. */
const longestPromptSeconds = 45 * 60;
/** A host that has just reported the end of the turn is hardly away for longer. */
const longestAwaySeconds = 5 * 60;

const keyIsGone =
  "The API key that sent the prompt was revoked, has expired, or belongs to a user who has left.";

/** Throws if the database cannot be reached; then the row is picked up again. */
export async function continueTurn(parts: ContinueParts, row: Row): Promise<void> {
  const toPrompt = row.step === "fork" ? await fork(parts, row) : row;
  if (toPrompt) await prompt(parts, toPrompt);
}

/** Returns the row with its fork; undefined if there is none, or another node works on it. */
async function fork(parts: ContinueParts, row: Row): Promise<Row | undefined> {
  const { system } = parts;
  if (row.api_key_id === null) {
    const isKnown = row.age_seconds <= longestKeySeconds;
    await system.rows(isKnown ? store.tryLater : store.forget, ...keyOf(row));
    return undefined;
  }
  const original = await readOriginal(parts, row);
  if (!original) return undefined;
  const chain = row.schedule?.fallbackChain ?? original.fallback_chain;
  const passedOver = [...row.passed_over];
  for (let asked = row.asked as AgentKind | null; ; asked = null) {
    const wanted = { chain, used: original.used_kinds, passedOver, asked };
    const isLineLong = asked === null && original.depth >= chain.length;
    const entry = isLineLong ? undefined : nextEntry(wanted);
    if (!entry) {
      await fail(parts, row, whyNoneLeft(wanted));
      return undefined;
    }
    const { kind } = entry;
    const sessionId = formatId("session", row.session_id);
    const about = { kind: original.agent_kind, sessionId, turnId: row.turn_id };
    const fallback = {
      preferredKind: original.agent_kind,
      skipped: skippedKinds(about, passedOver),
      droppedOptions: [],
    };
    const continued = { turnId: row.turn_id, fallback, ...modelOf(entry) };
    const body = { sessionId, agentKind: kind };
    const answer = await call(parts, row, { action: "fork_session", asks: kind, body, continued });
    if (!answer) return undefined;
    if ("result" in answer) {
      const forkId = parseId("session", answer.result["sessionId"] as string);
      const noted = await system.first(store.noteForked, ...keyOf(row), forkId);
      if (!noted) return undefined;
      notify(parts, row);
      return { ...row, step: "prompt", fork_id: forkId, asked: null, asked_seconds: 0 };
    }
    const { code, message } = answer.refusal;
    const passed = { kind, code, message };
    if (!(await system.first(store.passOver, ...keyOf(row), JSON.stringify([passed])))) {
      return undefined;
    }
    passedOver.push(passed);
    row.asked_seconds = 0;
  }
}

/** Undefined if the session cannot be forked, or not now. */
async function readOriginal(
  parts: ContinueParts,
  row: Row,
): Promise<store.OriginalRow | undefined> {
  const { organization_id, session_id } = row;
  const original = await parts.system.first(store.selectOriginal, organization_id, session_id);
  if (!original) {
    await fail(parts, row, "The session was deleted.");
    return undefined;
  }
  // If a host may have made the fork, only the same call shows what became of it.
  if (row.asked !== null) return original;
  if (isOver(original.status)) {
    await fail(parts, row, "The session was ended before its turn was continued.");
    return undefined;
  }
  if (original.reachable) return original;
  await tryLater(parts, row, "The host disconnected.", row.age_seconds > longestAwaySeconds);
  return undefined;
}

/** As at a start: a provider without a model means the kind's own model. */
function modelOf({ providerId, modelId }: FallbackEntry): {
  providerId?: string;
  modelId?: string;
} {
  if (modelId === null) return {};
  return providerId === null ? { modelId } : { providerId, modelId };
}

async function prompt(parts: ContinueParts, row: Row): Promise<void> {
  if (row.asked === null && !(await isReady(parts, row))) return;
  const body = { sessionId: formatId("session", row.fork_id!), text: goOn };
  const answer = await call(parts, row, { action: "send_prompt", asks: "prompt", body });
  if (!answer) return;
  if ("refusal" in answer) return fail(parts, row, answer.refusal.message);
  const scheduleId = row.schedule && parseId(row.schedule.type, row.schedule.id);
  const { turnId } = answer.result;
  await parts.system.rows(store.notePrompted, ...keyOf(row), turnId, scheduleId);
}

const goOn =
  "The agent that worked on this before you stopped in the middle of its last turn, because its account has used up its quota. Continue the task where that agent stopped. Look at the files first: a change may be incomplete.";

/** Whether the fork can receive the prompt now. A refusal would be the outcome for good. */
async function isReady(parts: ContinueParts, row: Row): Promise<boolean> {
  const state = await parts.system.first(store.selectFork, row.organization_id, row.fork_id);
  if (!state || isOver(state.status)) {
    const why = state && statusMessage(state);
    const ended = "The session that continues the turn was ended before it received the prompt.";
    await fail(parts, row, why ?? ended);
    return false;
  }
  const isStarting = state.activity === "starting" || state.status_reason === "start_unknown";
  if (!isStarting && state.reachable) return true;
  const why = isStarting
    ? "The session that continues the turn did not start in time, so it did not receive the prompt."
    : "The host disconnected before the session that continues the turn received the prompt.";
  await tryLater(parts, row, why, row.age_seconds > longestPromptSeconds);
  return false;
}

interface OwnCall {
  action: "fork_session" | "send_prompt";
  /** The kind of the fork, or "prompt". */
  asks: AgentKind | "prompt";
  body: object;
  continued?: ContinuedTurn;
}

/** Makes a call with the key of the turn. Undefined if the row has ended, waits, or is another node's by now. */
async function call(
  parts: ContinueParts,
  row: Row,
  { action, asks, body, continued }: OwnCall,
): Promise<Accepted | undefined> {
  const { system, callerOfKey, dispatchAs } = parts;
  const caller = await callerOfKey(row.organization_id, row.api_key_id!);
  if (!caller) {
    await fail(parts, row, keyIsGone);
    return undefined;
  }
  if (!(await system.first(store.noteAsked, ...keyOf(row), asks))) return undefined;
  const { schedule, continuation_id: id } = row;
  const answer = readOwnAnswer(
    await dispatchAs(
      { ...caller, ...(schedule && { schedule }), ...(continued && { continued }) },
      {
        action,
        body: () => Promise.resolve(body),
        idempotencyKey: `continue:${id}:${asks}${lateSuffix(row)}`,
        callId: `continue:${id}`,
        transport: "continuation",
      },
    ),
  );
  if ("later" in answer) {
    const unknown = `The host did not answer in time, so it is not known whether it ${action === "fork_session" ? "made the fork" : "received the prompt"}.`;
    const why = answer.isUnknown ? unknown : answer.later;
    await tryLater(parts, row, why, row.asked_seconds > longestAskSeconds);
    return undefined;
  }
  if ("forbidden" in answer) {
    const may = action === "fork_session" ? "fork" : "prompt";
    const why = `The API key that sent the prompt may not ${may} sessions. ${answer.forbidden}`;
    await fail(parts, row, why);
    return undefined;
  }
  if ("refusal" in answer && isTooLate(answer.refusal)) {
    if (row.asked_seconds > longestAskSeconds) return { refusal: neverInTime() };
    await system.rows(store.callAnew, ...keyOf(row));
    return undefined;
  }
  return answer;
}

/** Pauses the work, or ends it with `why` if it has been tried for long enough. */
async function tryLater(
  parts: ContinueParts,
  row: Row,
  why: string,
  isLongEnough: boolean,
): Promise<void> {
  if (isLongEnough) return fail(parts, row, why);
  await parts.system.rows(store.tryLater, ...keyOf(row));
}

async function fail(parts: ContinueParts, row: Row, problem: string): Promise<void> {
  const ended = await parts.system.first(store.endWithProblem, ...keyOf(row), problem);
  if (ended) notify(parts, row);
}

const notify = ({ viewers }: ContinueParts, { organization_id, session_id }: Row) =>
  viewers.notify(organization_id, { sessions: [formatId("session", session_id)] });

const keyOf = ({ organization_id, session_id, turn_id, fence }: Row) =>
  [organization_id, session_id, turn_id, fence] as const;
