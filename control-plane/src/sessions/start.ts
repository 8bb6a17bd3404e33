// Starting a session. Its row is there before the host is asked, so nothing is started that nobody
// knows of; a start that the host refuses takes its row away again.
import {
  formatId,
  notFound,
  parseId,
  type AgentKind,
  type InputOf,
  type SessionRecord,
  type sessionActions,
} from "@hawser/contract";
import type { CommandResultOf } from "@hawser/host-protocol";
import { callerReference } from "../access/caller-reference.ts";
import { defaultKind } from "../agents/default-kind.ts";
import { onHost, type ChangeContext, type HostHandler } from "../dispatch/handler.ts";
import { notifyAfterCommit } from "../events/viewers.ts";
import { hostOffline } from "../fabric/host-asker.ts";
import { askHost, withShortWait } from "../hosts/ask-host.ts";
import { authorFor } from "./author.ts";
import type { SessionServices } from "./find-session.ts";
import { sessionRecord } from "./record.ts";
import * as store from "./store.ts";

type Start = (typeof sessionActions)["start_session"];

export const startSession: HostHandler<Start, SessionServices> = onHost({
  async prepare(context, input) {
    const { sql, caller } = context;
    const { instanceId, directory } = input;
    const id = parseId("instance", instanceId);
    const place = id && (await sql.first(store.selectPlace, sql.organizationId, id));
    if (!place) throw notFound("instance");
    if (place.status !== "online") {
      throw hostOffline();
    }
    const wanted = wantedAgent(input, place);
    const title = input.title || null;
    const made = await sql.first(
      store.insertSession,
      sql.organizationId,
      id,
      title,
      wanted.kind,
      directory ?? null,
      await callerReference(sql, caller),
    );
    const sessionId = formatId("session", made!.session_id);
    notifyAfterCommit(context, { sessions: [sessionId] });
    const { useWorktree, options, clone } = input;
    const payload = {
      sessionId,
      title,
      policy: place.policy,
      author: await authorFor(sql, caller),
      ...wanted,
      ...(options && { options }),
    };
    const host = { instanceId, isOnline: true };
    if (clone) return { ...host, payload: { ...payload, clone } };
    const where = { directory: directory!, ...(useWorktree !== undefined && { useWorktree }) };
    return { ...host, payload: { ...payload, ...where } };
  },
  ask: (context, _input, { payload, ...host }) =>
    "clone" in payload
      ? askHost(withShortWait(context), host, "start_session_in_clone", payload)
      : askHost(context, host, "start_session", payload),
  conclude: (context, _input, { payload }, answer) =>
    recordStart(context, payload.sessionId, answer),
  undo: (context, _input, { payload }) => deleteRefusedStart(context, payload.sessionId),
  async unknown(context, _input, { payload }) {
    const { sql } = context;
    const id = parseId("session", payload.sessionId)!;
    // A clone takes its time. While its host is there it goes on, and the log tells how it ended.
    const row = await sql.first(store.selectSession, sql.organizationId, id);
    if (!("clone" in payload && row?.reachable))
      await recordStartUnknown(context, payload.sessionId);
  },
});

type Changing = ChangeContext & SessionServices;

/** What the host made of a session that began. */
export function recordStart(
  context: Changing,
  sessionId: string,
  { directory, worktreeBranch, model, capabilities }: CommandResultOf<"start_session">,
): Promise<SessionRecord> {
  const { sql } = context;
  const key = [sql.organizationId, parseId("session", sessionId)!];
  sql.later(store.noteStarted, ...key, directory, worktreeBranch, model, capabilities);
  return readRecordAndNotify(context, sessionId);
}

/** The host refused: there is no such session. */
export async function deleteRefusedStart(context: Changing, sessionId: string): Promise<void> {
  const { sql } = context;
  await sql.rows(store.deleteRefusedStart, sql.organizationId, parseId("session", sessionId)!);
  notifyAfterCommit(context, { sessions: [sessionId] });
}

/** Nobody knows whether the host has begun it; its log will tell. */
export async function recordStartUnknown(context: Changing, sessionId: string): Promise<void> {
  const { sql } = context;
  await sql.rows(store.noteStartUnknown, sql.organizationId, parseId("session", sessionId)!);
  notifyAfterCommit(context, { sessions: [sessionId] });
}

/** What was asked for, else the host's default with the model its chain names. */
function wantedAgent(
  { agentKind, providerId, modelId }: InputOf<Start>,
  { fallback_chain, agents }: store.PlaceRow,
): { kind: AgentKind; providerId?: string; modelId?: string } {
  const asked = { ...(providerId && { providerId }), ...(modelId && { modelId }) };
  if (agentKind) return { kind: agentKind, ...asked };
  const byDefault = defaultKind(fallback_chain, agents);
  const { kind } = byDefault;
  if (providerId || modelId) return { kind, ...asked };
  return {
    kind,
    ...(byDefault.providerId && { providerId: byDefault.providerId }),
    ...(byDefault.modelId && { modelId: byDefault.modelId }),
  };
}

/** The record as it is at the end of the transaction, of which everyone is told. */
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
