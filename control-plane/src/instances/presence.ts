// Which hosts are connected, and why a host is not. The fabric's connect and disconnect events report
// it, each to one node; heartbeats contain facts, not liveness. A lost event is corrected by a
// comparison with the connections that the NATS servers list. The death of a server or an edge causes
// thousands of events at once, so they are written in groups (decision 0019).
//
// Guarantee: a row of host_connections is one connection of one server. An instance is shown online
// while it has one, and for 15 s after its edge or server died.
import { formatId } from "@hawser/contract";
import type { FabricConnection } from "../fabric/list-connections.ts";
import type { ConnectionEvents } from "../fabric/presence-feed.ts";
import { lockInstances } from "../hosts/store.ts";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import { inGroups } from "../postgres/in-groups.ts";
import { query } from "../postgres/statement.ts";
import * as store from "./presence-store.ts";

export interface Presence extends ConnectionEvents {
  /** Shows hosts offline that have been moving for too long. */
  sweep(): Promise<void>;
}

interface PresenceParts {
  database: Database;
  log: Log;
  /** Notifies viewers on all nodes; a notice may be lost. */
  changed: (organizationId: string, instanceId: string) => void;
  /**
   * How long a disconnect is held back, so that the death of the edge can be distinguished from the
   * host's own disconnect.
   */
  holdMs?: number;
}

/** A connection, or the notice of an edge that one is about to start. */
interface Arrival {
  publicKey: string;
  edgeId?: string;
  connection?: FabricConnection;
}

interface Loss extends Pick<FabricConnection, "serverId" | "clientId"> {
  reason: string;
  serverLost: boolean;
}

export function createPresence({ database, log, changed, holdMs = 300 }: PresenceParts): Presence {
  const { system } = database;

  function report<Row extends store.PresenceChange>(rows: Row[], what: (row: Row) => string): void {
    for (const row of rows) {
      const instanceId = formatId("instance", row.instance_id);
      log.info({ instanceId, status: what(row) }, "presence");
      changed(row.organization_id, instanceId);
    }
  }

  const arrive = inGroups(async (arrivals: Arrival[]) => {
    const connections = arrivals.flatMap(({ connection }) => connection ?? []);
    const edges = arrivals.flatMap(({ publicKey, edgeId }) =>
      edgeId ? [{ publicKey, edgeId }] : [],
    );
    const users = connections.map(({ user }) => user);
    const [, , , changes] = await system.together(
      query(store.lockInstancesOfKeys, [...new Set(arrivals.map(({ publicKey }) => publicKey))]),
      query(
        store.noteEdges,
        edges.map(({ publicKey }) => publicKey),
        edges.map(({ edgeId }) => edgeId),
      ),
      query(
        store.insertConnections,
        connections.map(({ serverId }) => serverId),
        connections.map(({ clientId }) => clientId),
        users,
      ),
      query(store.setOnline, users),
    );
    report(changes, () => "online");
    return arrivals.map(() => undefined);
  });

  const lose = inGroups(async (losses: Loss[]) => {
    const named = [losses.map(({ serverId }) => serverId), losses.map(({ clientId }) => clientId)];
    const [, changes] = await system.together(
      query(store.lockInstancesOfConnections, ...named),
      query(
        store.deleteConnections,
        ...named,
        losses.map(({ reason }) => reasonOf(reason)),
        losses.map(({ serverLost }) => serverLost),
      ),
    );
    report(changes, ({ status, status_reason: reason }) =>
      status === "online" ? reason : `${status} ${reason}`,
    );
    return losses.map(() => undefined);
  });

  const connected = (connection: FabricConnection) =>
    arrive({ publicKey: connection.user, connection });

  return {
    connected,
    async disconnected({ serverId, clientId, user }, reason) {
      if (!user.startsWith("U")) return;
      // A killed edge loses its own connection at the same moment; that event must be processed first.
      await new Promise((resolve) => setTimeout(resolve, holdMs));
      await lose({ serverId, clientId, reason, serverLost: false });
    },
    edgeLost: async (edgeId) => void (await system.rows(store.loseEdge, edgeId)),
    async edgeBack(edgeId) {
      // The event that the former connection ended may be processed by another node, a little later.
      await new Promise((resolve) => setTimeout(resolve, 2 * holdMs));
      await system.rows(store.findEdge, edgeId);
    },
    admitted: (publicKey, edgeId) => arrive({ publicKey, edgeId }),
    async compare(list) {
      // Read before the servers are asked: a connection that is recorded after that is not lost.
      const known = await system.rows(store.selectConnections);
      const { listed, servers, cut } = await list();
      // If no server answers, nothing is known about hosts.
      if (servers.size === 0) return;
      const key = (serverId: string, clientId: number) => `${serverId} ${clientId}`;
      const there = new Set(listed.map(({ serverId, clientId }) => key(serverId, clientId)));
      const noted = new Set(known.map((row) => key(row.server_id, row.client_id)));
      const isNew = ({ serverId, clientId }: FabricConnection) =>
        !noted.has(key(serverId, clientId));
      await Promise.all(listed.filter(isNew).map(connected));
      const gone = known.filter(
        (row) => !there.has(key(row.server_id, row.client_id)) && !cut.has(row.server_id),
      );
      await Promise.all(
        gone.map(({ server_id: serverId, client_id: clientId }) =>
          lose({ serverId, clientId, reason: "", serverLost: !servers.has(serverId) }),
        ),
      );
      const stranded = await system.rows(store.selectStranded);
      if (stranded.length === 0) return;
      const named = [
        stranded.map((row) => row.organization_id),
        stranded.map((row) => row.instance_id),
      ];
      const [, moving] = await system.together(
        query(lockInstances, ...named),
        query(store.setMoving, ...named),
      );
      report(moving, () => "moving");
    },
    async sweep() {
      report(await system.rows(store.giveUpMoving), () => "offline link_lost");
    },
  };
}

/** Converts a reason of nats-server to ours. */
function reasonOf(reason: string): string {
  if (/Stale Connection/i.test(reason)) return "daemon_stalled";
  if (/Revoked/i.test(reason)) return "revoked";
  return "link_lost";
}
