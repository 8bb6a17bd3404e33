// Which hosts are connected, and why one is not. The fabric's own connect and disconnect events say
// so, each to one node; heartbeats carry facts, not liveness. A lost event is healed by comparing
// with what the NATS servers themselves list.
//
// Guarantee: a row of host_connections is one connection of one server; an instance is shown online
// while it has one, or for 15 s after its edge or its server died under it.
import { formatId } from "@hawser/contract";
import type { Log } from "../log.ts";
import type { Database } from "../postgres/database.ts";
import * as store from "./presence-store.ts";

/** A connection as a NATS server tells of it. */
export interface FabricConnection {
  serverId: string;
  clientId: number;
  /** The public key it authenticated with. */
  user: string;
  /** What it calls itself. */
  name: string;
}

export interface Listing {
  listed: FabricConnection[];
  /** Those that answered. */
  servers: ReadonlySet<string>;
}

export interface Presence {
  connected(connection: FabricConnection): Promise<void>;
  disconnected(connection: FabricConnection, reason: string): Promise<void>;
  admitted(publicKey: string, edgeId: string): Promise<void>;
  /** Makes the rows equal to what all living servers list. */
  compare(list: () => Promise<Listing>): Promise<void>;
  /** Gives up hosts that have been moving for too long. */
  sweep(): Promise<void>;
}

interface PresenceParts {
  database: Database;
  log: Log;
  /** Tells other nodes' viewers; a hint that may be lost. */
  changed: (organizationId: string, instanceId: string) => void;
  /** How long a disconnect is held, so that the death of its edge can be told from its own. */
  holdMs?: number;
}

const edgeName = /^edge\.(.+)$/;

export function openPresence({ database, log, changed, holdMs = 300 }: PresenceParts): Presence {
  const { system } = database;

  function tell(rows: store.PresenceChange[], what: string): void {
    for (const { organization_id, instance_id } of rows) {
      const instanceId = formatId("instance", instance_id);
      log.info({ instanceId, status: what }, "presence");
      changed(organization_id, instanceId);
    }
  }

  async function connected({ serverId, clientId, user }: FabricConnection): Promise<void> {
    const host = await system.first(store.insertConnection, serverId, clientId, user);
    if (host)
      tell(await system.rows(store.setOnline, host.organization_id, host.instance_id), "online");
  }

  async function lost(
    serverId: string,
    clientId: number,
    reason: string,
    serverLost: boolean,
  ): Promise<void> {
    const gone = await system.first(store.deleteConnection, serverId, clientId);
    if (!gone || gone.left > 0) return;
    const host = [gone.organization_id, gone.instance_id];
    if ((gone.edge_lost || serverLost) && !gone.stopped) {
      tell(await system.rows(store.setMoving, ...host), "moving");
    } else {
      const why = gone.stopped ? "daemon_stopped" : reasonOf(reason);
      tell(await system.rows(store.setOffline, ...host, why), `offline ${why}`);
    }
  }

  return {
    connected,
    async disconnected({ serverId, clientId, user, name }, reason) {
      const edge = edgeName.exec(name)?.[1];
      if (edge) {
        await system.rows(store.loseEdge, edge);
        return;
      }
      if (!user.startsWith("U")) return;
      // A killed edge takes its own connection down in the same moment; that event must come first.
      await new Promise((resolve) => setTimeout(resolve, holdMs));
      await lost(serverId, clientId, reason, false);
    },
    async admitted(publicKey, edgeId) {
      await system.rows(store.noteEdge, publicKey, edgeId);
    },
    async compare(list) {
      const key = (serverId: string, clientId: number) => `${serverId} ${clientId}`;
      // Before the servers list theirs: a connection noted meanwhile is missing there for no fault of
      // its own, and taken for lost it would be shown offline until the next comparison.
      const known = await system.rows(store.selectConnections);
      const { listed, servers } = await list();
      // No server answering says nothing about hosts.
      if (servers.size === 0) return;
      const there = new Set(listed.map(({ serverId, clientId }) => key(serverId, clientId)));
      const noted = new Set(known.map((row) => key(row.server_id, row.client_id)));
      for (const connection of listed) {
        if (!noted.has(key(connection.serverId, connection.clientId))) await connected(connection);
      }
      for (const row of known) {
        if (there.has(key(row.server_id, row.client_id))) continue;
        await lost(row.server_id, row.client_id, "", !servers.has(row.server_id));
      }
      for (const { organization_id, instance_id } of await system.rows(store.selectStranded)) {
        tell(await system.rows(store.setMoving, organization_id, instance_id), "moving");
      }
    },
    async sweep() {
      tell(await system.rows(store.giveUpMoving), "offline link_lost");
    },
  };
}

/** From the words of nats-server to ours. */
function reasonOf(reason: string): string {
  if (/Stale Connection/i.test(reason)) return "daemon_stalled";
  if (/Revoked/i.test(reason)) return "revoked";
  return "link_lost";
}
