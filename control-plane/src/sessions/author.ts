// In whose name a session's agent commits: whoever starts it, as the organization knows them.
import type { Caller } from "../dispatch/caller.ts";
import { selectMember } from "../access/store.ts";
import type { TenantSql } from "../postgres/statement.ts";

/** An organization's key stands for nobody. The domain is one that can never exist. */
const nobody = { name: "Hawser", email: "no-reply@hawser.invalid" };

export async function authorFor(sql: TenantSql, { userId }: Caller) {
  const member = userId && (await sql.first(selectMember, sql.organizationId, userId));
  if (!member) return nobody;
  return { name: member.name || member.email, email: member.email };
}
