// Finding a member of the organization.
import { notFound, parseId } from "@hawser/contract";
import type { TenantSql } from "../postgres/statement.ts";
import { selectMember, type MemberRow } from "./store.ts";

/** Throws `not_found` if the organization has no such member. */
export async function findMember(sql: TenantSql, userId: string): Promise<MemberRow> {
  const id = parseId("user", userId);
  const row = id && (await sql.first(selectMember, sql.organizationId, id));
  if (!row) throw notFound("member");
  return row;
}
