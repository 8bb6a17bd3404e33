// The SQL that every folder may use about the instance whose host it asks: whether it exists, whether its
// host is online, which agents the host has, and its lock.
import type { InstanceDetail, InstanceStatus } from "@hawser/contract";
import { statement, systemStatement } from "../postgres/statement.ts";

export const instanceExists = statement<{ instance_id: string }>(
  `SELECT instance_id FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);

export const selectStatus = statement<{ status: InstanceStatus }>(
  `SELECT status FROM instances
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL`,
);

/**
 * Whether the host of a row of another table is online. A subquery and not a join: with a join PostgreSQL may
 * begin at the instances of an organization, and read all sessions of all of them for one page.
 */
export const reachableSql = (row: string) =>
  `(SELECT status = 'online' FROM instances
              WHERE organization_id = ${row}.organization_id AND instance_id = ${row}.instance_id)`;

export interface HostAgentsRow {
  status: InstanceStatus;
  agents: InstanceDetail["agents"];
  fallback_chain: InstanceDetail["fallbackChain"];
  last_seen_at: string | null;
}

export const selectHostAgents = statement<HostAgentsRow>(
  `SELECT i.status, i.agents, i.fallback_chain, seen.last_seen_at
     FROM instances i
     LEFT JOIN host_sightings seen
       ON seen.organization_id = i.organization_id AND seen.instance_id = i.instance_id
    WHERE i.organization_id = $1 AND i.instance_id = $2 AND i.deleted_at IS NULL`,
);

/** Locks in the order of ids, so that two transactions that lock several instances cannot deadlock. */
export const lockInOrder = `ORDER BY i.organization_id, i.instance_id FOR NO KEY UPDATE OF i`;

/** $1 organizations, $2 instances. */
export const lockInstances = systemStatement(
  "lock instances",
  `SELECT FROM unnest($1::uuid[], $2::uuid[]) AS named (organization_id, instance_id)
     JOIN instances i ON i.organization_id = named.organization_id AND i.instance_id = named.instance_id
    ${lockInOrder}`,
);
