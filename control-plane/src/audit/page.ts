// Reading the audit trail, newest entry first.
import { formatId, parseId, type AuditEntry } from "@hawser/contract";
import { page, readIdCursor } from "../cursor.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { selectNames, selectPage, type AuditRow } from "./store.ts";

export async function listAuditEntries(
  sql: TenantSql,
  { cursor, limit = 50 }: { cursor?: string | undefined; limit?: number | undefined },
): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
  const read = await sql.rows(selectPage, sql.organizationId, readIdCursor(cursor), limit + 1);
  const { rows, nextCursor } = page(read, limit, (row) => [row.audit_id]);
  const owners = rows.flatMap((row) => accountOwnerOf(row) ?? []);
  const named =
    owners.length > 0 ? await sql.rows(selectNames, sql.organizationId, [...new Set(owners)]) : [];
  const names = new Map(named.map(({ user_id, name }) => [user_id, name]));
  return { entries: rows.map((row) => auditEntry(row, names)), nextCursor };
}

/** The stored id of the other member whose agent account the call uses. */
const accountOwnerOf = ({ records }: AuditRow) => parseId("user", records["accountUserId"] ?? "");

function auditEntry(row: AuditRow, names: ReadonlyMap<string, string>): AuditEntry {
  const owner = accountOwnerOf(row);
  return {
    auditId: formatId("audit", row.audit_id),
    at: row.at,
    action: row.action,
    outcome: row.outcome,
    actor: actorOf(row),
    apiKeyId: row.api_key_id && !row.sign_in_id ? formatId("apiKey", row.api_key_id) : null,
    signInId: row.sign_in_id && formatId("signIn", row.sign_in_id),
    accountOf: owner
      ? { userId: formatId("user", owner), name: names.get(owner) ?? "former member" }
      : null,
    input: row.input,
    records: row.records,
    callId: row.call_id,
  };
}

function actorOf(row: AuditRow): AuditEntry["actor"] {
  if (row.agent_session_id) {
    return {
      type: "agent_key",
      id: formatId("session", row.agent_session_id),
      name: row.key_name ?? "",
    };
  }
  if (row.user_id) {
    return {
      type: "user",
      id: formatId("user", row.user_id),
      name: row.user_name ?? "former member",
    };
  }
  if (row.api_key_id) {
    return {
      type: "organization_key",
      id: formatId("apiKey", row.api_key_id),
      name: row.key_name ?? "",
    };
  }
  return row.action === "receive_delivery"
    ? { type: "sender", id: "", name: "unknown sender" }
    : { type: "host", id: "", name: "host" };
}
