// Stored sessions without a host: rows like those of real sessions, for tests of actions that only read the
// database.
import { formatId, parseId, type AgentKind, type SessionStatus } from "@hawser/contract";
import { statement } from "@hawser/control-plane/postgres/statement.ts";
import type { TestOrganization } from "./organization.ts";
import type { World } from "./world.ts";

export interface SessionRows {
  instanceId: string;
  count?: number;
  status?: SessionStatus;
  agentKind?: AgentKind;
  /** A number is added if there are several. */
  title?: string;
}

const insertRows = statement<{ session_id: string }>(
  `INSERT INTO sessions (organization_id, instance_id, title, agent_kind, directory, status, started_by)
   SELECT $1, $2, CASE WHEN $4 = 1 THEN $3 ELSE $3 || ' ' || n END, $5, '/srv/code', $6,
          '{"type": "organization_key", "id": "key_x", "name": "testkit"}'
     FROM generate_series(1, $4::int) AS n
   RETURNING session_id`,
);

/** Returns the ids of the new sessions. */
export async function insertSessions(
  world: World,
  organization: TestOrganization,
  rows: SessionRows,
): Promise<string[]> {
  const { count = 1, status = "active", agentKind = "codex", title = "a session" } = rows;
  const organizationId = parseId("organization", organization.organizationId)!;
  const instanceId = parseId("instance", rows.instanceId);
  const values = [organizationId, instanceId, title, count, agentKind, status];
  const made = await world.sql.tenantTransaction(organizationId, (sql) =>
    sql.rows(insertRows, ...values),
  );
  return made.map((row) => formatId("session", row.session_id));
}
