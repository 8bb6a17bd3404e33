// Reading the audit trail, newest entry first.
import { formatId, type AuditEntry } from "@hawser/contract";
import { page, readIdCursor } from "../cursor.ts";
import type { TenantSql } from "../postgres/statement.ts";
import { selectPage, type AuditRow } from "./store.ts";

export async function listAuditEntries(
  sql: TenantSql,
  { cursor, limit = 50 }: { cursor?: string | undefined; limit?: number | undefined },
): Promise<{ entries: AuditEntry[]; nextCursor: string | null }> {
  const read = await sql.rows(selectPage, sql.organizationId, readIdCursor(cursor), limit + 1);
  const { rows, nextCursor } = page(read, limit, (row) => [row.audit_id]);
  return { entries: rows.map(auditEntry), nextCursor };
}

function auditEntry(row: AuditRow): AuditEntry {
  return {
    auditId: formatId("audit", row.audit_id),
    at: row.at,
    action: row.action,
    outcome: row.outcome,
    actor: actorOf(row),
    apiKeyId: row.api_key_id && formatId("apiKey", row.api_key_id),
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
  return { type: "host", id: "", name: "host" };
}
