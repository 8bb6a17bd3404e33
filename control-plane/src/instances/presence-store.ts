// The SQL of presence. All of it runs as hawser_system, because a connection event names a key and not
// an organization.
//
// Thousands of connections can start or end at once, so the statements take sets. Each transaction
// first locks the instances, in the order of ids. So transactions cannot deadlock, and the status of an
// instance is decided by one transaction at a time, which sees what the one before has written.
import { lockInOrder } from "../hosts/store.ts";
import { systemStatement } from "../postgres/statement.ts";
import { insertSightings } from "./sighting-store.ts";

export interface PresenceChange {
  organization_id: string;
  instance_id: string;
}

export const lockInstancesOfKeys = systemStatement(
  "lock the instances of hosts that connect",
  `SELECT FROM host_keys k
     JOIN instances i ON i.organization_id = k.organization_id AND i.instance_id = k.instance_id
    WHERE k.public_key = ANY ($1::text[])
    ${lockInOrder}`,
);

export const lockInstancesOfConnections = systemStatement(
  "lock the instances of hosts that disconnected",
  `SELECT FROM unnest($1::text[], $2::bigint[]) AS lost (server_id, client_id)
     JOIN host_connections c ON c.server_id = lost.server_id AND c.client_id = lost.client_id
     JOIN instances i ON i.organization_id = c.organization_id AND i.instance_id = c.instance_id
    ${lockInOrder}`,
);

/** Skips keys that belong to no host or were revoked. */
export const insertConnections = systemStatement(
  "record hosts' connections",
  `INSERT INTO host_connections (server_id, client_id, public_key, organization_id, instance_id, edge_id)
   SELECT DISTINCT ON (come.server_id, come.client_id)
          come.server_id, come.client_id, k.public_key, k.organization_id, k.instance_id, k.edge_id
     FROM unnest($1::text[], $2::bigint[], $3::text[]) AS come (server_id, client_id, public_key)
     JOIN host_keys k ON k.public_key = come.public_key AND k.revoked_at IS NULL
   ON CONFLICT (server_id, client_id) DO UPDATE SET public_key = excluded.public_key`,
);

export const selectRevokedKeys = systemStatement<{ public_key: string }>(
  "find the revoked keys among those that hosts connect with",
  `SELECT public_key FROM host_keys
    WHERE public_key = ANY ($1::text[]) AND revoked_at IS NOT NULL`,
);

export const selectConnectionsOfRemoved = systemStatement<{
  server_id: string;
  client_id: number;
  public_key: string;
}>(
  "list the connections of an instance's removed hosts",
  `SELECT c.server_id, c.client_id, c.public_key FROM host_connections c
     JOIN host_keys k ON k.public_key = c.public_key AND k.revoked_at IS NOT NULL
    WHERE c.organization_id = $1 AND c.instance_id = $2`,
);

/** Returns only changes: an instance that is already online is skipped. */
export const setOnline = systemStatement<PresenceChange>(
  "show instances online",
  `WITH shown AS (
     UPDATE instances i SET status = 'online', status_reason = NULL, moving_since = NULL
       FROM host_keys k
      WHERE k.public_key = ANY ($1::text[]) AND k.revoked_at IS NULL
        AND i.organization_id = k.organization_id AND i.instance_id = k.instance_id
        AND i.deleted_at IS NULL AND (i.status <> 'online' OR i.status_reason = 'moving')
     RETURNING i.organization_id, i.instance_id),
   seen AS (${insertSightings(`SELECT organization_id, instance_id, hawser_now() AS seen_at FROM shown`)})
   SELECT organization_id, instance_id FROM shown`,
);

export interface LostConnection extends PresenceChange {
  status: string;
  status_reason: string;
}

const stopped = `coalesce(i.stopped_boot_id = i.boot_id, false)`;
const moves = `(last.moves AND NOT ${stopped})`;

/**
 * $1 servers, $2 client numbers, $3 reasons, $4 whether the host moves because its edge or server is gone.
 * Changes the instances that have no connection left. A daemon that had stopped does not move.
 */
export const deleteConnections = systemStatement<LostConnection>(
  "delete hosts' connections, and show hosts without one",
  `WITH gone AS (
     DELETE FROM host_connections c
      USING unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[]) WITH ORDINALITY
              AS lost (server_id, client_id, reason, moves, place)
      WHERE c.server_id = lost.server_id AND c.client_id = lost.client_id
     RETURNING c.*, lost.place, lost.reason, lost.moves),
   shown AS (
     UPDATE instances i
        SET status = CASE WHEN ${moves} THEN i.status ELSE 'offline' END,
            status_reason = CASE WHEN ${moves} THEN 'moving'
                                 WHEN ${stopped} THEN 'daemon_stopped' ELSE last.reason END,
            moving_since = CASE WHEN ${moves} THEN coalesce(i.moving_since, hawser_now()) END
       FROM (SELECT DISTINCT ON (organization_id, instance_id) * FROM gone
              ORDER BY organization_id, instance_id, place DESC) last
      WHERE i.organization_id = last.organization_id AND i.instance_id = last.instance_id
        AND i.status = 'online'
        AND NOT EXISTS (SELECT FROM host_connections c
                         WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id
                           -- This statement does not see its own deletions.
                           AND (c.server_id, c.client_id) NOT IN (SELECT server_id, client_id FROM gone))
     RETURNING i.organization_id, i.instance_id, i.status, i.status_reason),
   seen AS (${insertSightings(
     `SELECT organization_id, instance_id, hawser_now() AS seen_at FROM shown WHERE status = 'offline'`,
   )})
   SELECT organization_id, instance_id, status, status_reason FROM shown`,
);

const hasNoConnection = `NOT EXISTS (SELECT FROM host_connections c
                       WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)`;

/** $1 organizations, $2 instances. */
export const setMoving = systemStatement<PresenceChange>(
  "show instances as moving to another edge or server",
  `UPDATE instances i SET status_reason = 'moving', moving_since = coalesce(i.moving_since, hawser_now())
     FROM unnest($1::uuid[], $2::uuid[]) AS named (organization_id, instance_id)
    WHERE i.organization_id = named.organization_id AND i.instance_id = named.instance_id
      AND i.status = 'online' AND ${hasNoConnection}
   RETURNING i.organization_id, i.instance_id`,
);

/**
 * $1 seconds, at least 15. The constant is for the planner: with the parameter alone it expects a third of all
 * instances to be overdue, and reads them all instead of the index.
 */
const isOverdue = `i.moving_since < hawser_now() - interval '15 seconds'
     AND i.moving_since < hawser_now() - make_interval(secs => $1) AND ${hasNoConnection}`;

/** $1 seconds. A row if there are instances that the next statement would show offline. */
export const selectOverdue = systemStatement<{ overdue: true }>(
  "check whether instances have been moving for too long",
  `SELECT true AS overdue FROM instances i WHERE ${isOverdue} LIMIT 1`,
);

/** $1 seconds. Shows hosts offline that have been moving for so long. */
export const giveUpMoving = systemStatement<PresenceChange>(
  "show instances offline that have been moving for too long",
  `WITH due AS (
     SELECT i.organization_id, i.instance_id FROM instances i WHERE ${isOverdue} ${lockInOrder})
   UPDATE instances i SET status = 'offline', status_reason = 'link_lost', moving_since = NULL
     FROM due
    WHERE i.organization_id = due.organization_id AND i.instance_id = due.instance_id
      AND ${hasNoConnection}
   RETURNING i.organization_id, i.instance_id`,
);

/**
 * $1 public keys, $2 edges, $3 servers, $4 client numbers. Another node may have recorded the connection
 * already. The key's own edge is for the connection that is recorded next; the later notice counts.
 */
export const noteEdges = systemStatement(
  "record the edges that hosts connected through",
  `WITH admitted AS (
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[]) WITH ORDINALITY
                AS listed (public_key, edge_id, server_id, client_id, place)),
   recorded AS (
     UPDATE host_connections c SET edge_id = admitted.edge_id FROM admitted
      WHERE c.server_id = admitted.server_id AND c.client_id = admitted.client_id
        AND c.public_key = admitted.public_key AND c.edge_id IS DISTINCT FROM admitted.edge_id)
   UPDATE host_keys k SET edge_id = latest.edge_id
     FROM (SELECT DISTINCT ON (public_key) public_key, edge_id FROM admitted
            ORDER BY public_key, place DESC) latest
    WHERE k.public_key = latest.public_key AND k.edge_id IS DISTINCT FROM latest.edge_id`,
);

export interface RecordedConnection {
  server_id: string;
  client_id: number;
  /** null if no edge has reported the connection. */
  edge_id: string | null;
}

/** $1 servers, $2 client numbers. */
export const selectEdges = systemStatement<RecordedConnection>(
  "find the edges of hosts' connections",
  `SELECT c.server_id, c.client_id, c.edge_id
     FROM unnest($1::text[], $2::bigint[]) AS named (server_id, client_id)
     JOIN host_connections c ON c.server_id = named.server_id AND c.client_id = named.client_id`,
);

/** Every connection that the database knows. */
export const selectConnections = systemStatement<RecordedConnection>(
  "list the hosts' connections",
  `SELECT server_id, client_id, edge_id FROM host_connections`,
);

/** Online instances without a connection, which a comparison must correct. */
export const selectStranded = systemStatement<PresenceChange>(
  "find online instances without a connection",
  `SELECT i.organization_id, i.instance_id FROM instances i
    WHERE i.status = 'online' AND i.moving_since IS NULL AND i.deleted_at IS NULL
      AND ${hasNoConnection}`,
);

export const countHosts = systemStatement<{ status: string; hosts: number }>(
  "count the hosts by status",
  `SELECT status, count(*) AS hosts FROM instances WHERE deleted_at IS NULL GROUP BY status`,
);

/**
 * Returns a row to the node that holds the lease. A lease that ends much later than a node can set it is
 * free: the clock was set back, and its holder may be gone. The minute is for nodes that ask at once: the
 * one that waits for the row has computed its time before the other.
 */
export const takeLease = systemStatement<{ fence: number }>(
  "take or renew a lease",
  `INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, hawser_now() + make_interval(secs => $3))
   ON CONFLICT (name) DO UPDATE
     SET holder = excluded.holder, until = excluded.until,
         fence = CASE WHEN l.holder = excluded.holder THEN l.fence ELSE l.fence + 1 END
     WHERE l.holder = excluded.holder
        OR l.until NOT BETWEEN hawser_now() AND excluded.until + interval '1 minute'
   RETURNING fence`,
);

/** $1 the lease, $2 its holder. No-op if another node holds it. */
export const releaseLease = systemStatement(
  "release a lease",
  `UPDATE leases SET until = hawser_now() - interval '1 second' WHERE name = $1 AND holder = $2`,
);
