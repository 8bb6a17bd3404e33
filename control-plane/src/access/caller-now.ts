// The caller of a change of access, with what it may do at this moment. Nodes cache callers for some seconds,
// and what a caller grants stays, so every grant is judged by the rows.
import { Refusal, type Permission } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import type { TenantTransaction } from "../postgres/database.ts";
import type { Statement } from "../postgres/statement.ts";
import { permissionsOf } from "./roles.ts";
import * as store from "./store.ts";

/**
 * Lets the organization's changes of members and roles run one after the other, until the call commits. Throws
 * `forbidden` if the caller may not change them any more, and `unauthenticated` as below.
 */
export async function beginRoleChange(sql: TenantTransaction, caller: Caller): Promise<Caller> {
  const now = await callerAfter(store.lockOrganization, sql, caller);
  refuseWithout(now, "access:edit");
  return now;
}

export function refuseWithout({ permissions }: Caller, needed: Permission): void {
  if (permissions.has(needed)) return;
  throw new Refusal(
    "forbidden",
    `This key lacks the permission ${needed}, which the action needs.`,
  );
}

/**
 * Keeps members and roles as they are until the call commits, and the calling key from being revoked. So a key or a
 * grant cannot be created with a permission that its creator is losing. Throws `unauthenticated` if the calling key is
 * no longer valid.
 */
export const beginKeyChange = (sql: TenantTransaction, caller: Caller): Promise<Caller> =>
  callerAfter(store.shareOrganization, sql, caller);

async function callerAfter(
  lock: Statement<unknown>,
  sql: TenantTransaction,
  caller: Caller,
): Promise<Caller> {
  const { organizationId } = sql;
  const [, keys, members] = await sql.together(
    { statement: lock, values: [organizationId] },
    { statement: store.holdApiKey, values: [organizationId, caller.apiKeyId] },
    { statement: store.selectMember, values: [organizationId, caller.userId] },
  );
  if (keys.length === 0 || (caller.userId !== null && members.length === 0)) {
    throw new Refusal(
      "unauthenticated",
      "The API key was revoked or has expired. Use another key.",
    );
  }
  const [member] = members;
  if (!member) return caller;
  const byRole = permissionsOf(member);
  const permissions = [...caller.permissions].filter((each) => byRole.includes(each));
  return { ...caller, permissions: new Set(permissions) };
}
