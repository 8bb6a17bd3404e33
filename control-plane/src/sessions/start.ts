// Starting a session. Its row is inserted before the host is asked, so every session that a host starts
// has a record. If the host refuses the start, the row is deleted.
import {
  Refusal,
  formatId,
  narrower,
  notFound,
  parseId,
  type AgentKind,
  type InputOf,
  type RefusalDetails,
  type SessionRecord,
  type Starter,
  type sessionActions,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import { callerReference } from "../access/caller-reference.ts";
import { defaultKind } from "../agents/default-kind.ts";
import type { Caller } from "../dispatch/caller.ts";
import { onHost, type ChangeContext, type HostHandler } from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { askHost, withShortWait } from "../hosts/ask-host.ts";
import { ownerIdOf, userOfOwner } from "../identities/owner.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { authorFor } from "./author.ts";
import { boundFallback } from "./bound-fallback.ts";
import type { SessionServices } from "./find-session.ts";
import { sessionRecord } from "./record.ts";
import { refuseLowerMode, refuseOtherHost } from "./schedule-terms.ts";
import * as store from "./store.ts";

type Start = (typeof sessionActions)["start_session"];

export const startSession: HostHandler<Start, SessionServices> = onHost({
  async prepare(context, input) {
    const { sql, caller } = context;
    const { instanceId, directory } = input;
    const id = parseId("instance", instanceId);
    const starter = caller.sessionId;
    const found = id && (await sql.first(store.selectStartHost, sql.organizationId, id, starter));
    if (!found) throw notFound("instance");
    const { schedule } = caller;
    if (schedule) {
      refuseOtherHost(schedule, found);
      refuseLowerMode(schedule, found.highest_mode);
    }
    const host = { ...found, fallback_chain: schedule?.fallbackChain ?? found.fallback_chain };
    if (host.status !== "online") {
      throw hostOffline();
    }
    if (starter !== null) limitAgent(input, host);
    const wanted = wantedAgent(input, host);
    const title = input.title || null;
    // An agent cannot start a session that may do more than the agent's own.
    const allowed = narrower(host.highest_mode, host.starter_mode ?? host.highest_mode);
    const mode = schedule?.mode ?? narrower(host.default_mode, allowed);
    const ownerId = ownerIdOf(caller);
    const made = await sql.first(
      store.insertSession,
      sql.organizationId,
      id,
      title,
      wanted.kind,
      directory ?? null,
      await starterReference(sql, caller),
      mode,
    );
    const sessionId = formatId("session", made!.session_id);
    notifyAfterCommit(context, { sessions: [sessionId] });
    const { useWorktree, options, clone } = input;
    const payload = {
      sessionId,
      title,
      policy: host.policy,
      mode,
      ...trustedForHost(host),
      author: await authorFor(sql, caller),
      ownerId,
      ...wanted,
      ...fallbackForHost(host),
      ...(options && { options }),
    };
    const target = { instanceId, isOnline: true };
    if (clone) return { ...target, payload: { ...payload, clone } };
    const where = { directory: directory!, ...(useWorktree !== undefined && { useWorktree }) };
    return { ...target, payload: { ...payload, ...where } };
  },
  async beforeRetry({ sql, caller: { schedule } }, { instanceId }) {
    const id = parseId("instance", instanceId);
    const host = schedule && (await sql.first(store.selectHostKey, sql.organizationId, id));
    if (host) refuseOtherHost(schedule, host);
  },
  ask: (context, _input, { payload, ...host }) =>
    "clone" in payload
      ? askHost(withShortWait(context), host, "start_session_in_clone", payload)
      : askHost(context, host, "start_session", payload),
  conclude: (context, _input, { payload }, answer) => recordStart(context, payload, answer),
  undo: (context, _input, { payload }) => deleteRefusedStart(context, payload.sessionId),
  unknown: (context, _input, { payload }) =>
    "clone" in payload
      ? recordLongStart(context, payload.sessionId)
      : recordStartUnknown(context, payload.sessionId),
});

/** The schedule, the trigger or the caller that starts a session, as the record names it. */
export async function starterReference(sql: TenantSql, caller: Caller): Promise<Starter> {
  if (!caller.schedule) return callerReference(sql, caller);
  const { type, id, name } = caller.schedule;
  return { type, id, name };
}

/** The repositories that the organization trusts, as a host receives them. */
export const trustedForHost = ({
  trusted_repositories: trusted,
}: Pick<store.StartHostRow, "trusted_repositories">) => (trusted.length > 0 ? { trusted } : {});

/** The host's fallback chain, as the host receives it. */
const fallbackForHost = ({ fallback_chain: chain, fallback_threshold }: store.StartHostRow) =>
  chain.length > 0 ? { fallback: { chain, threshold: fallback_threshold } } : {};

type Changing = ChangeContext & SessionServices;

/**
 * An agent starts sessions only where it works itself: through a session elsewhere it would read and change
 * what its own session must not reach.
 */
function limitAgent(
  { directory, clone }: InputOf<Start>,
  { starter_directory }: store.StartHostRow,
): void {
  if (clone === undefined && directory === starter_directory) return;
  throw new Refusal(
    "forbidden",
    clone
      ? "A key that an agent holds cannot start a session in a clone."
      : `A key that an agent holds starts sessions only in the directory of its own session, ${starter_directory}.`,
  );
}

/** Records what the host reports about a session that it has started as it was asked to. */
export function recordStart(
  context: Changing,
  asked: { sessionId: string; ownerId?: string | null | undefined },
  {
    directory,
    worktreeBranch,
    model,
    capabilities,
    mode,
    trustedParts,
    taken,
    ownerId,
  }: CommandResultOf<"start_session">,
): Promise<SessionRecord> {
  const { sql } = context;
  const { sessionId } = asked;
  const key = [sql.organizationId, parseId("session", sessionId)!];
  const placed = [directory, worktreeBranch, model, capabilities, mode ?? null] as const;
  const fallback = taken ? boundFallback(taken.fallback) : null;
  // A host cannot name another person than the one who started it.
  const accountUser = ownerId && ownerId === asked.ownerId ? userOfOwner(ownerId) : undefined;
  const decided = [trustedParts ?? [], taken?.kind ?? null, fallback, accountUser ?? null] as const;
  sql.later(store.noteStarted, ...key, ...placed, ...decided);
  return readRecordAndNotify(context, sessionId);
}

/** Deletes the record of a session that the host refused to start. */
export async function deleteRefusedStart(context: Changing, sessionId: string): Promise<void> {
  const { sql } = context;
  await sql.rows(store.deleteRefusedStart, sql.organizationId, parseId("session", sessionId)!);
  notifyAfterCommit(context, { sessions: [sessionId] });
}

/** Records that it is unknown whether the host has started the session. Its log will report it. */
export async function recordStartUnknown(
  context: Changing,
  sessionId: string,
): Promise<{ details: RefusalDetails }> {
  const { sql } = context;
  await sql.rows(store.noteStartUnknown, sql.organizationId, parseId("session", sessionId)!);
  notifyAfterCommit(context, { sessions: [sessionId] });
  return { details: { sessionId } };
}

/**
 * Returns the record of a start that takes long. While its host is connected it continues, and the session's
 * log reports its end.
 */
export async function recordLongStart(
  context: Changing,
  sessionId: string,
): Promise<{ result: SessionRecord } | { details: RefusalDetails }> {
  const { sql } = context;
  const id = parseId("session", sessionId)!;
  const row = await sql.first(store.selectSession, sql.organizationId, id);
  if (row?.reachable && row.activity === "starting") return { result: sessionRecord(row) };
  return recordStartUnknown(context, sessionId);
}

/** The agent that the caller asked for, or else the host's default with the model of its fallback chain. */
function wantedAgent(
  { agentKind, providerId, modelId }: InputOf<Start>,
  { fallback_chain, agents }: store.StartHostRow,
): { kind: AgentKind; providerId?: string; modelId?: string } {
  const asked = { ...(providerId && { providerId }), ...(modelId && { modelId }) };
  if (agentKind) return { kind: agentKind, ...asked };
  const byDefault = defaultKind(fallback_chain, agents);
  const { kind } = byDefault;
  if (providerId || modelId) return { kind, ...asked };
  // A provider without a model means the kind's own model.
  if (!byDefault.modelId) return { kind };
  const provider = byDefault.providerId ? { providerId: byDefault.providerId } : {};
  return { kind, ...provider, modelId: byDefault.modelId };
}

/** Reads the record at the end of the transaction, and notifies viewers after the commit. */
export async function readRecordAndNotify(
  context: Changing,
  sessionId: string,
): Promise<SessionRecord> {
  const { sql } = context;
  const row = await sql.first(
    store.selectSession,
    sql.organizationId,
    parseId("session", sessionId)!,
  );
  if (!row) throw notFound("session");
  notifyAfterCommit(context, { sessions: [sessionId] });
  return sessionRecord(row);
}
