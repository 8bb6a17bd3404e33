// The names of people whom hosts report by their ids.
import { formatId, parseId, type UserReference } from "@hawser/contract";
import { selectMemberNames } from "../access/store.ts";
import type { TenantSql } from "../postgres/statement.ts";

/** Returns a function that adds the name to an id; null for null, and for what is no id of a user. */
export async function readNames(
  sql: TenantSql,
  userIds: readonly (string | null)[],
): Promise<(userId: string | null) => UserReference | null> {
  const ids = new Set(userIds.flatMap((userId) => (userId && parseId("user", userId)) ?? []));
  const rows = ids.size > 0 ? await sql.rows(selectMemberNames, sql.organizationId, [...ids]) : [];
  const names = new Map(rows.map(({ user_id, name }) => [formatId("user", user_id), name]));
  return (userId) => {
    // Hosts report what they like.
    if (userId === null || parseId("user", userId) === null) return null;
    return { userId, name: names.get(userId) ?? "former member" };
  };
}
