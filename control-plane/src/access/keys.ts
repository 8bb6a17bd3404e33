// Creating, rotating and revoking API keys (decision 0033). Nobody receives the secret of another user's
// key, except of the first key of a new member, and nobody creates, rotates or revokes a key with a
// permission that they lack.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  roles,
  type accessActions,
  type Permission,
  type Role,
} from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import { auditValues } from "../dispatch/changes.ts";
import type { ChangeContext, RecordHandler } from "../dispatch/handler.ts";
import { insertEntry } from "../audit/store.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { apiKeyRecord, makeApiKey } from "./api-key.ts";
import type { Authenticator } from "./authenticate.ts";
import { callerReference } from "./caller-reference.ts";
import { findMember } from "./members.ts";
import * as store from "./store.ts";

export interface KeyServices {
  authenticator: Authenticator;
  memberAccounts: MemberAccounts;
  /** Takes the stored id. */
  sessionExists: (sql: TenantSql, sessionId: string) => Promise<boolean>;
  /** Lets the scheduled prompts that act with one key act with another. Takes stored ids. */
  moveSchedules: (sql: TenantTransaction, fromKeyId: string, toKeyId: string) => void;
  /** The same for webhooks. */
  moveWebhooks: (sql: TenantTransaction, fromKeyId: string, toKeyId: string) => void;
}

/** What the removal of a member does to the member's agent accounts on hosts. */
export interface MemberAccounts {
  /**
   * Records that hosts owe the removal, and asks the connected ones after the commit. Takes the stored id. The
   * membership has to be deleted before.
   */
  remove(sql: TenantTransaction, userId: string): void;
}

type KeyHandler<Name extends keyof typeof accessActions> = RecordHandler<
  (typeof accessActions)[Name],
  KeyServices
>;

export const createApiKey: KeyHandler<"create_api_key"> = async (context, input) => {
  const { caller, sql } = context;
  const permissions: readonly Permission[] = input.permissions;
  const isOwn =
    input.scope === "user" && (input.userId === undefined || isUser(caller, input.userId));
  if (!isOwn) refuseWithoutEdit(caller);
  await holdCallersKey(sql, caller);
  const owner = input.scope === "user" ? await keyOwner(sql, caller, input.userId) : null;
  const sessionId =
    input.sessionId === undefined ? null : await boundSession(context, input.sessionId);
  if (isOwn) refuseNarrowKey(caller, owner!.role);
  else if (owner) await refuseUnlessFirstKey(sql, owner);
  refuseWidening(caller, permissions, "permissions");
  if (owner) refuseBeyondRole(owner.role, permissions);
  const made = await makeApiKey(sql, {
    organizationId: sql.organizationId,
    name: input.name,
    userId: owner && owner.user_id,
    sessionId,
    permissions,
    createdBy: await callerReference(sql, caller),
    creator: caller,
    expiresAt: input.expiresAt ?? null,
  });
  const { createdAt, expiresAt } = made.apiKey;
  if (expiresAt !== null && expiresAt <= createdAt) {
    throw new Refusal("invalid_input", "A key cannot expire in the past.", {
      fields: [{ field: "expiresAt", message: "must lie in the future" }],
    });
  }
  return made;
};

export const rotateApiKey: KeyHandler<"rotate_api_key"> = async (context, input) => {
  const { caller, sql, authenticator, moveSchedules, moveWebhooks } = context;
  const { apiKeyId, overlapMinutes = 60 } = input;
  const id = parseId("apiKey", apiKeyId);
  // A key that rotates itself is locked below.
  if (id !== caller.apiKeyId) await holdCallersKey(sql, caller);
  const former = id ? await sql.first(store.lockValidApiKey, sql.organizationId, id) : undefined;
  refuseKeyOutOfReach(caller, former);
  if (!isItself(caller, former)) {
    if (former.user_id !== null && former.user_id !== caller.userId) {
      throw new Refusal(
        "forbidden",
        "A user's key is rotated only by that user. Revoke it with revoke_api_key, and let the user create another.",
      );
    }
    refuseWidening(caller, heldBy(former), "apiKeyId");
  }
  const made = await makeApiKey(sql, {
    organizationId: sql.organizationId,
    name: former.name,
    userId: former.user_id,
    sessionId: former.session_id,
    permissions: former.permissions,
    createdBy: await callerReference(sql, caller),
    creator: caller,
    expiresAt: former.expires_at,
  });
  const madeId = parseId("apiKey", made.apiKey.apiKeyId)!;
  moveSchedules(sql, former.api_key_id, madeId);
  moveWebhooks(sql, former.api_key_id, madeId);
  sql.afterCommit(() => authenticator.forget(sql.organizationId));
  const ended = await sql.first(
    store.expireApiKeyIn,
    sql.organizationId,
    former.api_key_id,
    overlapMinutes,
  );
  return { ...made, previousExpiresAt: ended!.expires_at };
};

export const revokeApiKey: KeyHandler<"revoke_api_key"> = async (context, { apiKeyId }) => {
  const { caller, sql, authenticator } = context;
  const id = parseId("apiKey", apiKeyId);
  const row = id ? await sql.first(store.lockApiKey, sql.organizationId, id) : undefined;
  refuseKeyOutOfReach(caller, row);
  if (!isItself(caller, row)) refuseWidening(caller, heldBy(row), "apiKeyId");
  const revoked = await sql.first(store.revokeApiKey, sql.organizationId, row.api_key_id);
  sql.afterCommit(() => authenticator.forget(sql.organizationId));
  return apiKeyRecord(revoked!);
};

/**
 * Revokes the keys that a member has and those that the member created, directly or with a key of the
 * organization. With `role`, revokes only created keys that have a permission beyond that role. Each
 * revoked key has its own audit entry. Returns their ids as callers see them.
 */
export async function revokeKeysOf(
  { sql, caller, callId }: ChangeContext,
  userId: string,
  role?: Role,
): Promise<string[]> {
  const revoked: string[] = [];
  // Repeat until nothing is left: a call that was running may have created a key that the first pass did
  // not see. None can follow, because `holdCallersKey` refuses revoked keys.
  for (;;) {
    const rows = await sql.rows(
      store.revokeKeysOf,
      sql.organizationId,
      userId,
      role ? roles[role] : null,
    );
    if (rows.length === 0) break;
    revoked.push(...rows.map(({ api_key_id }) => formatId("apiKey", api_key_id)));
  }
  for (const apiKeyId of revoked) {
    const entry = { caller, name: "revoke_api_key", auditInput: { apiKeyId }, callId };
    sql.later(insertEntry, ...auditValues(entry, "done", { apiKeyId }));
  }
  return revoked;
}

const isUser = ({ userId }: Caller, shownId: string) =>
  userId !== null && formatId("user", userId) === shownId;

const isItself = (caller: Caller, key: store.ApiKeyRow) => key.api_key_id === caller.apiKeyId;

/** What a key allows now: a user's key never exceeds the user's role. */
function heldBy({ permissions, user_id, user_role }: store.ApiKeyRow): Permission[] {
  const byRole: readonly Permission[] = user_role ? roles[user_role] : [];
  return user_id ? permissions.filter((permission) => byRole.includes(permission)) : permissions;
}

/**
 * Locks the calling key until the call commits, so that a key cannot be used to create another while it
 * is being revoked. Throws `unauthenticated` if the key is no longer valid; nodes cache keys for some seconds.
 */
async function holdCallersKey(sql: TenantSql, caller: Caller): Promise<void> {
  if (await sql.first(store.holdApiKey, sql.organizationId, caller.apiKeyId)) return;
  throw new Refusal("unauthenticated", "The API key was revoked or has expired. Use another key.");
}

function refuseWithoutEdit({ permissions }: Caller): void {
  if (permissions.has("access:edit")) return;
  throw new Refusal(
    "forbidden",
    "Without the permission access:edit, a key reaches only keys of its own user.",
  );
}

/** Without `access:edit`, a key of somebody else and a missing key get the same answer. */
function refuseKeyOutOfReach(
  caller: Caller,
  key: store.ApiKeyRow | undefined,
): asserts key is store.ApiKeyRow {
  const isOwn = key !== undefined && key.user_id !== null && key.user_id === caller.userId;
  if (!isOwn) refuseWithoutEdit(caller);
  if (!key) throw notFound("API key");
  if (isOwn && key.user_role && !isItself(caller, key)) refuseNarrowKey(caller, key.user_role);
}

/**
 * A user's key that was made for one purpose must not create others. A key with every permission of the
 * user's role counts as the user.
 */
function refuseNarrowKey({ permissions }: Caller, role: Role): void {
  if (permissions.has("access:edit")) return;
  const missing = roles[role].filter((permission) => !permissions.has(permission));
  if (missing.length === 0) return;
  throw new Refusal(
    "forbidden",
    `To manage your keys, call with a key that has every permission of your role, ${role}. This key lacks ${missing.join(", ")}.`,
  );
}

/** Somebody else may create a member's first key, and no other. */
async function refuseUnlessFirstKey(sql: TenantSql, { user_id }: store.MemberRow): Promise<void> {
  await sql.rows(store.lockMember, sql.organizationId, user_id);
  if (!(await sql.first(store.selectKeySinceJoining, sql.organizationId, user_id))) return;
  throw new Refusal(
    "forbidden",
    "This member has had a key, so only the member can create another: let them call create_api_key with a key of their own. For a member without a working key, call remove_member and add_member, and create their first key.",
    { fields: [{ field: "userId", message: "must be the caller's own user, or have had no key" }] },
  );
}

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
  { sql, sessionExists }: { sql: TenantSql } & KeyServices,
  sessionId: string,
): Promise<string> {
  const id = parseId("session", sessionId);
  if (!id || !(await sessionExists(sql, id))) throw notFound("session");
  return id;
}

function refuseWidening(caller: Caller, wanted: readonly Permission[], field: string): void {
  const missing = wanted.filter((permission) => !caller.permissions.has(permission));
  if (missing.length === 0) return;
  const message = `must not go beyond the caller's own permissions; the caller lacks ${missing.join(", ")}`;
  throw new Refusal("forbidden", `A key ${message}.`, { fields: [{ field, message }] });
}
