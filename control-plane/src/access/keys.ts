// Creating, rotating and revoking API keys (decision 0033). Nobody receives the secret of another user's
// key, except of the first key of a new member, and nobody creates, rotates or revokes a key with a
// permission that they lack.
import {
  Refusal,
  formatId,
  notFound,
  parseId,
  type accessActions,
  type Permission,
} from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import { auditValues, type AuditedCaller } from "../dispatch/changes.ts";
import type { ChangeContext, RecordHandler } from "../dispatch/handler.ts";
import { insertEntry } from "../audit/store.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { apiKeyRecord, makeApiKey } from "./api-key.ts";
import type { Authenticator } from "./authenticate.ts";
import { beginKeyChange } from "./caller-now.ts";
import { callerReference } from "./caller-reference.ts";
import { findMember } from "./members.ts";
import { permissionsOf, type HeldRole } from "./roles.ts";
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
  const { sql } = context;
  const caller = await beginKeyChange(sql, context.caller);
  const permissions: readonly Permission[] = input.permissions;
  const isOwn =
    input.scope === "user" && (input.userId === undefined || isUser(caller, input.userId));
  if (!isOwn) refuseWithoutEdit(caller);
  const owner = input.scope === "user" ? await keyOwner(sql, caller, input.userId) : null;
  const sessionId =
    input.sessionId === undefined ? null : await boundSession(context, input.sessionId);
  if (isOwn) refuseNarrowKey(caller, owner!);
  else if (owner) await refuseUnlessFirstKey(sql, owner);
  refuseWidening(caller, permissions, "permissions");
  if (owner) refuseBeyondRole(owner, permissions);
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
  const { sql, authenticator, moveSchedules, moveWebhooks } = context;
  const { apiKeyId, overlapMinutes = 60 } = input;
  const id = parseId("apiKey", apiKeyId);
  // A key that rotates itself gains nothing, and is locked below.
  const isOwn = id === context.caller.apiKeyId;
  const caller = isOwn ? context.caller : await beginKeyChange(sql, context.caller);
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
 * Revokes the keys that members have and those that they created, directly or with a key of the organization.
 * With `allowed`, revokes only created keys that have another permission. Each revoked key has its own audit
 * entry. Returns their ids as callers see them.
 */
export async function revokeKeysOf(
  { sql, caller, callId }: Pick<ChangeContext, "sql" | "callId"> & { caller: AuditedCaller },
  userIds: readonly string[],
  allowed?: readonly Permission[],
): Promise<string[]> {
  const revoked: string[] = [];
  // Repeat until nothing is left: a call that was running may have created a key that the first pass did
  // not see. None can follow, because `beginKeyChange` refuses revoked keys.
  for (;;) {
    const rows = await sql.rows(store.revokeKeysOf, sql.organizationId, userIds, allowed ?? null);
    if (rows.length === 0) break;
    // The key of a signed-in member has no secret, and is none that callers know.
    const known = rows.filter(({ has_secret }) => has_secret);
    revoked.push(...known.map(({ api_key_id }) => formatId("apiKey", api_key_id)));
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
function heldBy(key: store.ApiKeyRow): Permission[] {
  if (!key.user_id) return key.permissions;
  const role = roleOfUser(key);
  const byRole = role ? permissionsOf(role) : [];
  return key.permissions.filter((permission) => byRole.includes(permission));
}

const roleOfUser = ({ user_role, user_own_permissions }: store.ApiKeyRow): HeldRole | null =>
  user_role === null ? null : { role: user_role, own_permissions: user_own_permissions };

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
  const role = roleOfUser(key);
  if (isOwn && role && !isItself(caller, key)) refuseNarrowKey(caller, role);
}

/**
 * A user's key that was made for one purpose must not create others. A key with every permission of the
 * user's role counts as the user.
 */
export function refuseNarrowKey({ permissions }: Caller, held: HeldRole): void {
  if (permissions.has("access:edit")) return;
  const missing = permissionsOf(held).filter((permission) => !permissions.has(permission));
  if (missing.length === 0) return;
  throw new Refusal(
    "forbidden",
    `To manage your keys and sign-ins, call with a key that has every permission of your role, ${held.role}. This key lacks ${missing.join(", ")}.`,
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
function refuseBeyondRole(held: HeldRole, wanted: readonly Permission[]): void {
  const allowed = permissionsOf(held);
  const beyond = wanted.filter((permission) => !allowed.includes(permission));
  if (beyond.length === 0) return;
  const message = `must stay within the user's role, ${held.role}, which lacks ${beyond.join(", ")}`;
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
