// Keeps every organization an owner, and one who can sign in if its identity provider fails (decision 0090).
import { Refusal } from "@hawser/contract";
import type { TenantSql } from "../postgres/statement.ts";
import * as store from "./store.ts";

/** Throws `last_owner` if the organization needs the member `leaving` as an owner. */
export async function keepAnOwner(sql: TenantSql, leaving: string): Promise<void> {
  const owners = await sql.rows(store.lockOwners, sql.organizationId);
  if (owners.some(({ user_id }) => user_id !== leaving)) return keepBreakGlass(sql, leaving);
  if (!owners.some(({ user_id }) => user_id === leaving)) return;
  throw new Refusal(
    "last_owner",
    "This is the organization's only owner. Make someone else an owner first.",
  );
}

async function keepBreakGlass(sql: TenantSql, leaving: string): Promise<void> {
  const rows = await sql.rows(store.selectBreakGlass, sql.organizationId);
  if (rows.length !== 1 || rows[0]!.user_id !== leaving) return;
  throw new Refusal(
    "last_owner",
    "This is the only owner who can sign in if the identity provider fails. Name another one in exceptUserIds of update_sign_in_settings first.",
  );
}
