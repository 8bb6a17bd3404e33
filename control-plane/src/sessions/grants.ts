// Grants on single sessions, for members whose role allows less. Row-level security decides what a grant reaches
// (migration 0039a), so the other handlers do not know of grants.
import {
  Refusal,
  formatId,
  parseId,
  type SessionGrantRecord,
  type SessionLinkRecord,
  type sessionGrantActions,
} from "@hawser/contract";
import type { Authenticator } from "../access/authenticate.ts";
import { beginKeyChange, refuseWithout } from "../access/caller-now.ts";
import { callerReference } from "../access/caller-reference.ts";
import { findMember } from "../access/members.ts";
import { hashSecret, makeSecretText, secretPrefixes } from "../access/secret-text.ts";
import type { ChangeContext, HandlersFor } from "../dispatch/handler.ts";
import { findSession } from "./find-session.ts";
import * as grants from "./grant-store.ts";
import { lockSession } from "./store.ts";

interface GrantServices {
  authenticator: Authenticator;
}

export const sessionGrantHandlers: HandlersFor<typeof sessionGrantActions, GrantServices> = {
  async grant_session(context, { sessionId, userId, level }) {
    const { sql } = context;
    const { id, by } = await sharedSession(context, sessionId);
    const { user_id } = await findMember(sql, userId);
    const row = await sql.first(grants.putGrant, sql.organizationId, user_id, id, level, by);
    forgetCallers(context);
    return grantRecord(sessionId, row!);
  },

  async list_session_grants({ sql }, { sessionId }) {
    const { session_id } = await findSession(sql, sessionId);
    const key = [sql.organizationId, session_id];
    const [rows, links] = await sql.together(
      { statement: grants.selectGrants, values: key },
      { statement: grants.selectLinks, values: key },
    );
    return {
      grants: rows.map((row) => grantRecord(sessionId, row)),
      links: links.map(linkRecord),
    };
  },

  async revoke_session_grant(context, { sessionId, userId }) {
    const { sql } = context;
    const { session_id } = await findSession(sql, sessionId);
    const { user_id } = await findMember(sql, userId);
    await sql.rows(grants.deleteGrants, sql.organizationId, session_id, user_id);
    forgetCallers(context);
    return { sessionId, userId, revoked: true };
  },

  async create_session_link(context, { sessionId, level }) {
    const { sql } = context;
    const { id, by } = await sharedSession(context, sessionId);
    const token = makeSecretText(secretPrefixes.sessionLink);
    const key = [sql.organizationId, id, level];
    const row = await sql.first(grants.insertLink, ...key, hashSecret(token), by);
    if (row) return { link: linkRecord(row), token };
    throw new Refusal(
      "already_exists",
      `The session has a link with the level ${level}. Revoke it with revoke_session_link to make another.`,
    );
  },

  async revoke_session_link(context, { sessionId, level }) {
    const { sql } = context;
    const { session_id } = await findSession(sql, sessionId);
    await sql.rows(grants.deleteLink, sql.organizationId, session_id, level);
    forgetCallers(context);
    return { sessionId, level, revoked: true };
  },

  async open_session_link(context, { token }) {
    const { sql, caller } = context;
    if (caller.userId === null) {
      throw new Refusal(
        "user_key_required",
        "A link grants something to a member, and this key belongs to the organization. Open it with a key of a user.",
      );
    }
    await beginKeyChange(sql, caller);
    const link = await sql.first(grants.lockLinkWithToken, sql.organizationId, hashSecret(token));
    if (!link) {
      throw new Refusal(
        "not_found",
        "Your organization has no link with this token. Links end when they are revoked, and with their session.",
      );
    }
    const { session_id, level } = link;
    await sql.rows(grants.grantByLink, sql.organizationId, caller.userId, session_id, level);
    forgetCallers(context);
    return { sessionId: formatId("session", session_id), level };
  },
};

/**
 * The session that the caller shares, locked so that it is not deleted meanwhile. Whoever grants something needs
 * the permissions for it at this moment, because the grant stays.
 */
async function sharedSession({ sql, caller }: ChangeContext, sessionId: string) {
  const now = await beginKeyChange(sql, caller);
  for (const permission of ["sessions:view", "sessions:edit"] as const) {
    refuseWithout(now, permission);
  }
  await sql.rows(lockSession, sql.organizationId, parseId("session", sessionId));
  const { session_id: id } = await findSession(sql, sessionId);
  return { id, by: await callerReference(sql, caller) };
}

/** What a node has cached of a caller includes whether there are grants. */
function forgetCallers({ sql, authenticator }: ChangeContext & GrantServices): void {
  sql.afterCommit(() => authenticator.forget(sql.organizationId));
}

function grantRecord(sessionId: string, row: grants.GrantRow): SessionGrantRecord {
  return {
    sessionId,
    user: { userId: formatId("user", row.user_id), name: row.user_name },
    level: row.level,
    byLink: row.by_link,
    grantedBy: row.granted_by,
    createdAt: row.created_at,
  };
}

function linkRecord(row: grants.LinkRow): SessionLinkRecord {
  return {
    sessionId: formatId("session", row.session_id),
    level: row.level,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
