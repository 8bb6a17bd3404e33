// The author of the commits that a session's agent makes: the member who starts the session.
import type { Caller } from "../dispatch/caller.ts";
import { selectMember } from "../access/store.ts";
import type { TenantSql } from "../postgres/statement.ts";

/** The author if an organization's key starts the session. The domain .invalid can never exist. */
const serviceAuthor = { name: "Hawser", email: "no-reply@hawser.invalid" };

export async function authorFor(sql: TenantSql, { userId }: Caller) {
  const member = userId && (await sql.first(selectMember, sql.organizationId, userId));
  if (!member) return serviceAuthor;
  return { name: member.name || member.email, email: member.email };
}
