// Sharing a session: the owner of its agent account chooses who else may prompt it. The host decides whether the
// caller is the owner, as it does for prompts.
import { parseId, type sessionActions } from "@hawser/contract";
import { findMember } from "../access/members.ts";
import { onHost, type HostHandler } from "../dispatch/handler.ts";
import { askHost } from "../hosts/ask-host.ts";
import { makeOwnerId, ownerIdOf, requireUser } from "../identities/owner.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { findSession, hostOf, refuseOver, type SessionServices } from "./find-session.ts";
import { readRecordAndNotify } from "./start.ts";
import * as store from "./store.ts";

type Share = (typeof sessionActions)["share_session"];

export const shareSession: HostHandler<Share, SessionServices> = onHost({
  async prepare({ sql, caller }, { sessionId, userIds }) {
    const row = await findSession(sql, sessionId);
    const guests = userIds && (await ownerIdsOf(sql, userIds));
    requireUser(caller);
    refuseOver(row);
    return { ...hostOf(row), appliedSeq: row.applied_seq, ownerId: ownerIdOf(caller)!, guests };
  },
  ask: (context, { sessionId }, { ownerId, guests, ...host }) =>
    askHost(context, host, "share_session", { sessionId, ownerId, guests }),
  conclude(context, { sessionId, userIds }, { appliedSeq }) {
    const { sql } = context;
    const key = [sql.organizationId, parseId("session", sessionId)!];
    const stored = userIds && userIds.map((userId) => parseId("user", userId)!);
    sql.later(store.lockSession, ...key);
    sql.later(store.setShared, ...key, stored, appliedSeq);
    return readRecordAndNotify(context, sessionId);
  },
});

/** Throws `not_found` if one of them is not a member. */
async function ownerIdsOf(sql: TenantSql, userIds: readonly string[]): Promise<string[]> {
  const ownerIds: string[] = [];
  for (const userId of new Set(userIds)) ownerIds.push(makeOwnerId(await findMember(sql, userId)));
  return ownerIds;
}
