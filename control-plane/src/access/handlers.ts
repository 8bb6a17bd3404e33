// What the access actions do; keys.ts has those that change keys. None of them can grant more than the
// caller has, neither by a key nor by a role.
import {
  Refusal,
  formatId,
  type accessActions,
  type MemberRecord,
  type SettingsRecord,
} from "@hawser/contract";
import { listAuditEntries } from "../audit/page.ts";
import { firstId, page, readCursor, readIdCursor } from "../cursor.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import { apiKeyRecord } from "./api-key.ts";
import { beginRoleChange } from "./caller-now.ts";
import { userReference } from "./caller-reference.ts";
import {
  createApiKey,
  revokeApiKey,
  revokeKeysOf,
  rotateApiKey,
  type KeyServices,
} from "./keys.ts";
import { findMember } from "./members.ts";
import { keepAnOwner } from "./owners.ts";
import { chosenRole, permissionsOf, refuseWiderRole, storedRole } from "./roles.ts";
import * as store from "./store.ts";

export const accessHandlers: HandlersFor<typeof accessActions, KeyServices> = {
  async whoami({ caller, sql }) {
    return {
      organization: {
        organizationId: formatId("organization", caller.organizationId),
        name: caller.organizationName,
      },
      apiKeyId: caller.signIn ? null : formatId("apiKey", caller.apiKeyId),
      signInId: caller.signIn ? formatId("signIn", caller.signIn.signInId) : null,
      scope: caller.scope,
      user: caller.userId ? await userReference(sql, caller.userId) : null,
      permissions: [...caller.permissions],
    };
  },

  async list_api_keys({ sql }, { cursor, limit = 50 }) {
    const before = readIdCursor(cursor);
    const read = await sql.rows(store.selectApiKeys, sql.organizationId, before, limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.api_key_id]);
    return { apiKeys: rows.map(apiKeyRecord), nextCursor };
  },

  create_api_key: createApiKey,
  rotate_api_key: rotateApiKey,
  revoke_api_key: revokeApiKey,

  async list_members({ sql }, { cursor, limit = 50 }) {
    const after = cursor === undefined ? ["", firstId] : readCursor(cursor, 2);
    const read = await sql.rows(store.selectMembers, sql.organizationId, ...after, limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.email, row.user_id]);
    return { members: rows.map(memberRecord), nextCursor };
  },

  async add_member({ caller, sql }, { email, name, role }) {
    const now = await beginRoleChange(sql, caller);
    const chosen = await chosenRole(sql, role);
    refuseWiderRole(now, chosen);
    const user = await sql.first(store.userForEmail, email);
    const row = await sql.first(
      store.insertMember,
      sql.organizationId,
      user!.user_id,
      email,
      name || null,
      ...storedRole(chosen),
    );
    if (!row) {
      throw new Refusal("already_exists", "A user with this e-mail address is a member already.");
    }
    return memberRecord(row);
  },

  async update_member(context, { userId, role }) {
    const { caller, sql, authenticator } = context;
    const now = await beginRoleChange(sql, caller);
    const member = await findMember(sql, userId);
    const chosen = await chosenRole(sql, role);
    refuseWiderRole(now, chosen);
    refuseWiderRole(now, member);
    if (role !== "owner") await keepAnOwner(sql, member.user_id);
    // The database takes an own role that stays for a change by a node that knows none.
    const row =
      member.role === chosen.role
        ? member
        : await sql.first(
            store.updateMemberRole,
            sql.organizationId,
            member.user_id,
            ...storedRole(chosen),
          );
    await revokeKeysOf(context, [member.user_id], permissionsOf(chosen));
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return memberRecord(row!);
  },

  async remove_member(context, { userId }) {
    const { caller, sql, authenticator, memberAccounts } = context;
    const now = await beginRoleChange(sql, caller);
    const member = await findMember(sql, userId);
    refuseWiderRole(now, member);
    // An invitation that the person has not used would bring them back.
    await sql.rows(store.revokeInvitationsOf, sql.organizationId, member.email);
    await keepAnOwner(sql, member.user_id);
    const revokedApiKeyIds = await revokeKeysOf(context, [member.user_id]);
    sql.later(store.removeException, sql.organizationId, member.user_id);
    sql.later(store.deleteMember, sql.organizationId, member.user_id);
    memberAccounts.remove(sql, member.user_id);
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return { userId: formatId("user", member.user_id), removed: true, revokedApiKeyIds };
  },

  async get_settings({ sql }) {
    return settingsRecord((await sql.first(store.selectSettings, sql.organizationId))!);
  },

  async update_settings({ sql }, input) {
    const row = await sql.first(
      store.updateSettings,
      sql.organizationId,
      input.name,
      input.timeZone,
      input.logRetentionDays,
      input.auditRetentionDays,
      input.defaultAgentPolicy,
      input.defaultMode,
      input.highestMode,
      input.trustedRepositories && JSON.stringify(input.trustedRepositories),
      input.allowedLogins && [...new Set(input.allowedLogins)],
      input.fallbackMidTurn,
    );
    return settingsRecord(row!);
  },

  list_audit_entries: ({ sql }, input) => listAuditEntries(sql, input),
};

function memberRecord(row: store.MemberRow): MemberRecord {
  return {
    userId: formatId("user", row.user_id),
    email: row.email,
    name: row.name,
    role: row.role,
    createdAt: row.created_at,
  };
}

function settingsRecord(row: store.SettingsRow): SettingsRecord {
  return {
    name: row.name,
    timeZone: row.time_zone,
    logRetentionDays: row.log_retention_days,
    auditRetentionDays: row.audit_retention_days,
    defaultAgentPolicy: row.default_agent_policy,
    defaultMode: row.default_mode,
    highestMode: row.highest_mode,
    trustedRepositories: row.trusted_repositories,
    allowedLogins: row.allowed_logins,
    fallbackMidTurn: row.fallback_mid_turn,
  };
}
