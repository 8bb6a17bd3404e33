// What the access actions do. None of them can grant more than the caller has, neither by a key nor by
// a role.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  roles,
  type accessActions,
  type MemberRecord,
  type Permission,
  type Role,
  type SettingsRecord,
} from "@hawser/contract";
import { listAuditEntries } from "../audit/page.ts";
import { firstId, page, readCursor, readIdCursor } from "../cursor.ts";
import type { Caller } from "../dispatch/caller.ts";
import type { HandlersFor } from "../dispatch/handler.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { apiKeyRecord, makeApiKey } from "./api-key.ts";
import type { Authenticator } from "./authenticate.ts";
import { callerReference, userReference } from "./caller-reference.ts";
import * as store from "./store.ts";

export interface AccessServices {
  authenticator: Authenticator;
  /** Takes the stored id. */
  sessionExists: (sql: TenantSql, sessionId: string) => Promise<boolean>;
}

export const accessHandlers: HandlersFor<typeof accessActions, AccessServices> = {
  async whoami({ caller, sql }) {
    return {
      organization: {
        organizationId: formatId("organization", caller.organizationId),
        name: caller.organizationName,
      },
      apiKeyId: formatId("apiKey", caller.apiKeyId),
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

  async create_api_key(context, input) {
    const { caller, sql } = context;
    const permissions: readonly Permission[] = input.permissions;
    const owner = input.scope === "user" ? await keyOwner(sql, caller, input.userId) : null;
    const sessionId =
      input.sessionId === undefined ? null : await boundSession(context, input.sessionId);
    refuseWidening(caller, permissions, "permissions");
    if (owner) refuseBeyondRole(owner.role, permissions);
    const made = await makeApiKey(sql, {
      organizationId: sql.organizationId,
      name: input.name,
      userId: owner && owner.user_id,
      sessionId,
      permissions,
      createdBy: await callerReference(sql, caller),
      expiresAt: input.expiresAt ?? null,
    });
    const { createdAt, expiresAt } = made.apiKey;
    if (expiresAt !== null && expiresAt <= createdAt) {
      throw new Refusal("invalid_input", "A key cannot expire in the past.", {
        fields: [{ field: "expiresAt", message: "must lie in the future" }],
      });
    }
    return made;
  },

  async rotate_api_key({ caller, sql, authenticator }, { apiKeyId, overlapMinutes = 60 }) {
    const id = parseId("apiKey", apiKeyId);
    const former = id && (await sql.first(store.lockApiKey, sql.organizationId, id));
    if (!former) throw notFound("API key");
    refuseWidening(caller, former.permissions, "apiKeyId");
    const made = await makeApiKey(sql, {
      organizationId: sql.organizationId,
      name: former.name,
      userId: former.user_id,
      sessionId: former.session_id,
      permissions: former.permissions,
      createdBy: await callerReference(sql, caller),
      expiresAt: former.expires_at,
    });
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    const ended = await sql.first(store.expireApiKeyIn, sql.organizationId, id, overlapMinutes);
    return { ...made, previousExpiresAt: ended!.expires_at };
  },

  async revoke_api_key({ sql, authenticator }, { apiKeyId }) {
    const id = parseId("apiKey", apiKeyId);
    const row = id && (await sql.first(store.revokeApiKey, sql.organizationId, id));
    if (!row) throw notFound("API key");
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return apiKeyRecord(row);
  },

  async list_members({ sql }, { cursor, limit = 50 }) {
    const after = cursor === undefined ? ["", firstId] : readCursor(cursor, 2);
    const read = await sql.rows(store.selectMembers, sql.organizationId, ...after, limit + 1);
    const { rows, nextCursor } = page(read, limit, (row) => [row.email, row.user_id]);
    return { members: rows.map(memberRecord), nextCursor };
  },

  async add_member({ caller, sql }, { email, name, role }) {
    refuseWiderRole(caller, role);
    const user = await sql.first(store.userForEmail, email);
    const row = await sql.first(
      store.insertMember,
      sql.organizationId,
      user!.user_id,
      email,
      name || null,
      role,
    );
    if (!row) {
      throw new Refusal("already_exists", "A user with this e-mail address is a member already.");
    }
    return memberRecord(row);
  },

  async update_member({ caller, sql, authenticator }, { userId, role }) {
    const member = await findMember(sql, userId);
    refuseWiderRole(caller, role);
    refuseWiderRole(caller, member.role);
    if (role !== "owner") await keepAnOwner(sql, member.user_id);
    const row = await sql.first(store.updateMemberRole, sql.organizationId, member.user_id, role);
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return memberRecord(row!);
  },

  async remove_member({ caller, sql, authenticator }, { userId }) {
    const member = await findMember(sql, userId);
    refuseWiderRole(caller, member.role);
    await keepAnOwner(sql, member.user_id);
    sql.later(store.revokeKeysOfUser, sql.organizationId, member.user_id);
    sql.later(store.deleteMember, sql.organizationId, member.user_id);
    sql.afterCommit(() => authenticator.forget(sql.organizationId));
    return { userId: formatId("user", member.user_id), removed: true };
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
    );
    return settingsRecord(row!);
  },

  list_audit_entries: ({ sql }, input) => listAuditEntries(sql, input),
};

async function keyOwner(
  sql: TenantSql,
  caller: Caller,
  wanted: string | undefined,
): Promise<store.MemberRow> {
  if (wanted !== undefined) return findMember(sql, wanted);
  if (caller.userId) return findMember(sql, formatId("user", caller.userId));
  throw new Refusal(
    "user_key_required",
    "This key belongs to the organization, so it has no user of its own. Name the user with userId.",
  );
}

/**
 * A user's key never has more permissions than the user's role. Refuse now, instead of creating a key
 * that lacks what it promises.
 */
function refuseBeyondRole(role: Role, wanted: readonly Permission[]): void {
  const allowed: readonly Permission[] = roles[role];
  const beyond = wanted.filter((permission) => !allowed.includes(permission));
  if (beyond.length === 0) return;
  const message = `must stay within the user's role, ${role}, which lacks ${beyond.join(", ")}`;
  throw new Refusal("invalid_input", `The permissions ${message}.`, {
    fields: [{ field: "permissions", message }],
  });
}

async function boundSession(
  { sql, sessionExists }: { sql: TenantSql } & AccessServices,
  sessionId: string,
): Promise<string> {
  const id = parseId("session", sessionId);
  if (!id || !(await sessionExists(sql, id))) throw notFound("session");
  return id;
}

async function findMember(sql: TenantSql, userId: string): Promise<store.MemberRow> {
  const id = parseId("user", userId);
  const row = id && (await sql.first(store.selectMember, sql.organizationId, id));
  if (!row) throw notFound("member");
  return row;
}

function refuseWidening(caller: Caller, wanted: readonly Permission[], field: string): void {
  const missing = wanted.filter((permission) => !caller.permissions.has(permission));
  if (missing.length === 0) return;
  const message = `must not go beyond the caller's own permissions; the caller lacks ${missing.join(", ")}`;
  throw new Refusal("forbidden", `A key ${message}.`, { fields: [{ field, message }] });
}

function refuseWiderRole(caller: Caller, role: Role): void {
  const missing = roles[role].filter((permission) => !caller.permissions.has(permission));
  if (missing.length === 0) return;
  throw new Refusal(
    "forbidden",
    `Granting or removing the role ${role} needs every permission it holds; this key lacks ${missing.join(", ")}.`,
  );
}

async function keepAnOwner(sql: TenantSql, leaving: string): Promise<void> {
  const owners = await sql.rows(store.lockOwners, sql.organizationId);
  if (owners.some(({ user_id }) => user_id !== leaving)) return;
  if (!owners.some(({ user_id }) => user_id === leaving)) return;
  throw new Refusal(
    "last_owner",
    "This is the organization's only owner. Make someone else an owner first.",
  );
}

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
  };
}
