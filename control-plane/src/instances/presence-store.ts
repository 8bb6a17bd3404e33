// The SQL of presence. All of it runs as hawser_system, because a connection event names a key and
// not an organization.
import { systemStatement } from "../postgres/statement.ts";

export interface PresenceChange {
  organization_id: string;
  instance_id: string;
}

/** Nothing when the key is no host's, or was revoked. */
export const insertConnection = systemStatement<PresenceChange>(
  "note a host's connection",
  `INSERT INTO host_connections (server_id, client_id, public_key, organization_id, instance_id, edge_id)
   SELECT $1, $2, k.public_key, k.organization_id, k.instance_id, k.edge_id
     FROM host_keys k WHERE k.public_key = $3 AND k.revoked_at IS NULL
   ON CONFLICT (server_id, client_id) DO UPDATE SET public_key = excluded.public_key
   RETURNING organization_id, instance_id`,
);

/** Changes only: an instance that is online already is left alone. */
export const setOnline = systemStatement<PresenceChange>(
  "show an instance online",
  `UPDATE instances SET status = 'online', status_reason = NULL, moving_since = NULL, last_seen_at = hawser_now()
    WHERE organization_id = $1 AND instance_id = $2 AND deleted_at IS NULL
      AND (status <> 'online' OR status_reason = 'moving')
   RETURNING organization_id, instance_id`,
);

export interface LostConnection extends PresenceChange {
  left: number;
  stopped: boolean;
  edge_lost: boolean;
}

/** Yields how many connections the host has left, and what is known of why this one went. */
export const deleteConnection = systemStatement<LostConnection>(
  "forget a host's connection",
  `WITH gone AS (
     DELETE FROM host_connections WHERE server_id = $1 AND client_id = $2
     RETURNING organization_id, instance_id, edge_id)
   SELECT g.organization_id, g.instance_id,
          (SELECT count(*) FROM host_connections c
            WHERE c.organization_id = g.organization_id AND c.instance_id = g.instance_id
              AND NOT (c.server_id = $1 AND c.client_id = $2)) AS left,
          coalesce(i.stopped_boot_id = i.boot_id, false) AS stopped,
          EXISTS (SELECT FROM lost_edges e WHERE e.edge_id = g.edge_id) AS edge_lost
     FROM gone g
     JOIN instances i ON i.organization_id = g.organization_id AND i.instance_id = g.instance_id`,
);

/** Not when a connection has come meanwhile. */
export const setOffline = systemStatement<PresenceChange>(
  "show an instance offline",
  `UPDATE instances i SET status = 'offline', status_reason = $3, moving_since = NULL, last_seen_at = hawser_now()
    WHERE i.organization_id = $1 AND i.instance_id = $2 AND i.status = 'online'
      AND NOT EXISTS (SELECT FROM host_connections c
                       WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)
   RETURNING i.organization_id, i.instance_id`,
);

export const setMoving = systemStatement<PresenceChange>(
  "show an instance as moving to another edge or server",
  `UPDATE instances i SET status_reason = 'moving', moving_since = coalesce(i.moving_since, hawser_now())
    WHERE i.organization_id = $1 AND i.instance_id = $2 AND i.status = 'online'
      AND NOT EXISTS (SELECT FROM host_connections c
                       WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)
   RETURNING i.organization_id, i.instance_id`,
);

/** Hosts that were looked for long enough. */
export const giveUpMoving = systemStatement<PresenceChange>(
  "show instances offline that moved for too long",
  `UPDATE instances i SET status = 'offline', status_reason = 'link_lost', moving_since = NULL
    WHERE i.moving_since < hawser_now() - interval '15 seconds'
      AND NOT EXISTS (SELECT FROM host_connections c
                       WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)
   RETURNING i.organization_id, i.instance_id`,
);

export const noteEdge = systemStatement(
  "note the edge a host came in through",
  // The edge says so as it lets the host in, so the connection may have been noted a moment before.
  `WITH fresh AS (
     UPDATE host_connections SET edge_id = $2
      WHERE public_key = $1 AND connected_at > hawser_now() - interval '5 seconds')
   UPDATE host_keys SET edge_id = $2 WHERE public_key = $1`,
);

export const loseEdge = systemStatement(
  "note that an edge is gone",
  `INSERT INTO lost_edges (edge_id) VALUES ($1) ON CONFLICT (edge_id) DO UPDATE SET lost_at = hawser_now()`,
);

/** Every connection there is, as far as the database knows. */
export const selectConnections = systemStatement<
  PresenceChange & { server_id: string; client_id: number }
>(
  "list the hosts' connections",
  `SELECT server_id, client_id, organization_id, instance_id FROM host_connections`,
);

/** Online instances that have no connection: what a compare must not leave behind. */
export const selectStranded = systemStatement<PresenceChange>(
  "find online instances without a connection",
  `SELECT i.organization_id, i.instance_id FROM instances i
    WHERE i.status = 'online' AND i.moving_since IS NULL AND i.deleted_at IS NULL
      AND NOT EXISTS (SELECT FROM host_connections c
                       WHERE c.organization_id = i.organization_id AND c.instance_id = i.instance_id)`,
);

/** Yields a row to the node that holds the lease. */
export const takeLease = systemStatement<{ fence: number }>(
  "take or renew a lease",
  `INSERT INTO leases AS l (name, holder, until) VALUES ($1, $2, hawser_now() + make_interval(secs => $3))
   ON CONFLICT (name) DO UPDATE
     SET holder = excluded.holder, until = excluded.until,
         fence = CASE WHEN l.holder = excluded.holder THEN l.fence ELSE l.fence + 1 END
     WHERE l.holder = excluded.holder OR l.until < hawser_now()
   RETURNING fence`,
);
