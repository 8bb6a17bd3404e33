// The SQL of the audit trail. An entry is written in the transaction of the change that it describes.
import { statement, systemStatement } from "../postgres/statement.ts";

export const insertEntry = systemStatement(
  "write an audit entry",
  `INSERT INTO audit_entries
     (organization_id, api_key_id, user_id, agent_session_id, action, outcome, input, records, call_id, sign_in_id)
   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
);

export interface AuditRow {
  audit_id: string;
  at: string;
  api_key_id: string | null;
  user_id: string | null;
  agent_session_id: string | null;
  /** The sign-in with which a person called; null if a key called. */
  sign_in_id: string | null;
  action: string;
  outcome: string;
  input: Record<string, unknown>;
  records: Record<string, string>;
  call_id: string;
  key_name: string | null;
  user_name: string | null;
}

/** A page of the trail, newest first, after the entry of the cursor. */
export const selectPage = statement<AuditRow>(
  `SELECT a.audit_id, a.at, a.api_key_id, a.user_id, a.agent_session_id, a.sign_in_id, a.action, a.outcome,
          a.input, a.records, a.call_id, k.name AS key_name, coalesce(m.name, m.email) AS user_name
     FROM audit_entries a
     LEFT JOIN api_keys k ON k.organization_id = a.organization_id AND k.api_key_id = a.api_key_id
     LEFT JOIN memberships m ON m.organization_id = a.organization_id AND m.user_id = a.user_id
    WHERE a.organization_id = $1 AND a.audit_id < $2
    ORDER BY a.audit_id DESC
    LIMIT $3`,
);

/** $2 users. Those who are no longer members have no row. */
export const selectNames = statement<{ user_id: string; name: string }>(
  `SELECT user_id, coalesce(name, email) AS name FROM memberships
    WHERE organization_id = $1 AND user_id = ANY ($2::uuid[])`,
);

/** Locks in the order of keys and actions, so that two nodes cannot deadlock. */
export const addReads = systemStatement(
  "add counted reads to their hour",
  `INSERT INTO audit_reads AS known (organization_id, api_key_id, action, hour, calls)
   SELECT organization_id, api_key_id, action, date_trunc('hour', hawser_now()), calls
     FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::bigint[])
       AS counted (organization_id, api_key_id, action, calls)
    ORDER BY organization_id, api_key_id, action
   ON CONFLICT (organization_id, api_key_id, action, hour)
   DO UPDATE SET calls = known.calls + excluded.calls`,
);
