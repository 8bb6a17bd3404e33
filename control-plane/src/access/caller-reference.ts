// How records name the person or key that created or did something.
import { formatId, type Caller as CallerReference } from "@hawser/contract";
import type { Caller } from "../dispatch/caller.ts";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";

/** A member with the name in the organization; "former member" after they have left. */
export async function userReference(sql: TenantSql, userId: string) {
  const row = await sql.first(store.selectMember, sql.organizationId, userId);
  return { userId: formatId("user", userId), name: row?.name ?? row?.email ?? "former member" };
}

/** The caller, as records name them. */
export async function callerReference(sql: TenantSql, caller: Caller): Promise<CallerReference> {
  if (caller.userId) {
    const { userId, name } = await userReference(sql, caller.userId);
    return { type: "user", id: userId, name };
  }
  const key = await sql.first(store.selectKeyName, sql.organizationId, caller.apiKeyId);
  return {
    type: "organization_key",
    id: formatId("apiKey", caller.apiKeyId),
    name: key?.name ?? "",
  };
}
