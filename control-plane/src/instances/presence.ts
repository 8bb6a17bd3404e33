// Which hosts are connected, and why a host is not. The fabric's connect and disconnect events report
// it, each to one node; heartbeats contain facts, not liveness. A lost event is corrected by a
// comparison with the connections that the NATS servers list. The death of a server or an edge causes
// thousands of events at once, so they are written in groups (decision 0019).
//
// Guarantee: a row of host_connections is one connection of one server. An instance is shown online
// while it has one, and for 15 s or longer after its edge or server died, so that hosts that spread their
// return have come back (decision 0044). Nothing is shown offline because a part
// of the service was silent or died: the edge of an ended connection is asked, and a host that stays
// away is looked for before it is given up (decision 0040). A host that renews its token ends its former
// connection only after the next one is recorded, because its hello is not answered before.
import { formatId } from "@hawser/contract";
import type { EdgeAsker } from "../fabric/edge-asker.ts";
import type { KickConnection } from "../fabric/kick-connection.ts";
import type {
  ConnectionId,
  FabricConnection,
  ListedConnections,
} from "../fabric/list-connections.ts";
import type { ConnectionEvents } from "../fabric/presence-feed.ts";
import { lockInstances } from "../hosts/store.ts";
import type { Log } from "../log.ts";
import { oneAtATime } from "../one-at-a-time.ts";
import type { SystemDatabase } from "../postgres/database.ts";
import { inGroups, readInGroups } from "../postgres/in-groups.ts";
import { query } from "../postgres/statement.ts";
import * as store from "./presence-store.ts";

export interface Presence extends ConnectionEvents {
  /** Resolves once a connection over which a host said hello is recorded. Throws if the connection is gone. */
  recorded(connection: ConnectionId): Promise<void>;
  /** Makes the record equal to what the NATS servers list. */
  compare(): Promise<Compared>;
  /** Shows hosts offline that have been moving for too long and are not connected. */
  sweep(): Promise<void>;
}

export interface Compared {
  /** A server did not answer for the first time: compare again soon. */
  isDoubtful: boolean;
}

/** What presence asks the fabric. */
export interface PresenceSources {
  list: () => Promise<ListedConnections>;
  /** undefined if the connection has ended. */
  identify: (connection: ConnectionId) => Promise<FabricConnection | undefined>;
  isEdgeAlive: EdgeAsker;
}

interface PresenceParts {
  database: SystemDatabase;
  sources: PresenceSources;
  /** Ends the connection of a revoked key, for which the list of revoked hosts had no room. */
  kick: KickConnection;
  log: Log;
  /** Notifies viewers on all nodes; a notice may be lost. */
  changed: (organizationId: string, instanceId: string) => void;
  /** The window over which hosts spread their return. */
  reconnectSeconds: () => number;
  /** How much later than its end the start of a connection may be recorded, by another node. */
  lateMs?: number;
}

/** A connection, or the notice of an edge that one is about to start. */
interface Arrival {
  publicKey: string;
  edge?: ConnectionId & { edgeId: string };
  connection?: FabricConnection;
}

interface Loss extends ConnectionId {
  reason: string;
  /** The host did not cause it and will connect again. */
  moves: boolean;
}

/** How long a host is shown as moving, and at least how much longer than the window. */
const shortestMovingSeconds = 15;
const movingAfterWindowSeconds = 10;
/**
 * How long the record of a connection over which a host said hello is waited for: the time until the second
 * look, which doubles with each look, and the longest. The sum is more than a second.
 */
const recordWait = { firstMs: 10, longestMs: 640 };
/** Connections that a comparison identifies at once. */
const identifiedAtOnce = 64;
/** A server that did not answer this often, and that no other server has a route to, is lost. */
const mostMisses = 2;

export function createPresence(parts: PresenceParts): Presence {
  const { database, sources, kick, log, changed, reconnectSeconds, lateMs = 300 } = parts;
  const { system } = database;
  /** How often in a row each server with recorded connections did not answer. */
  const misses = new Map<string, number>();

  function report<Row extends store.PresenceChange>(rows: Row[], what: (row: Row) => string): void {
    for (const row of rows) {
      const instanceId = formatId("instance", row.instance_id);
      log.info({ instanceId, status: what(row) }, "presence");
      changed(row.organization_id, instanceId);
    }
  }

  const arrive = inGroups(async (arrivals: Arrival[], lockMs) => {
    const connections = arrivals.flatMap(({ connection }) => connection ?? []);
    const edges = arrivals.flatMap(({ publicKey, edge }) => (edge ? [{ publicKey, ...edge }] : []));
    const users = connections.map(({ user }) => user);
    const [, , , changes, revoked] = await database.waitingAtMost(lockMs).system.together(
      query(store.lockInstancesOfKeys, [...new Set(arrivals.map(({ publicKey }) => publicKey))]),
      query(
        store.noteEdges,
        edges.map(({ publicKey }) => publicKey),
        edges.map(({ edgeId }) => edgeId),
        ...named(edges),
      ),
      query(store.insertConnections, ...named(connections), users),
      query(store.setOnline, users),
      query(store.selectRevokedKeys, users),
    );
    report(changes, () => "online");
    const removed = new Set(revoked.map(({ public_key }) => public_key));
    for (const connection of connections) if (removed.has(connection.user)) void kick(connection);
    return arrivals.map(() => undefined);
  });

  const lose = inGroups(async (losses: Loss[], lockMs) => {
    const [, changes] = await database.waitingAtMost(lockMs).system.together(
      query(store.lockInstancesOfConnections, ...named(losses)),
      query(
        store.deleteConnections,
        ...named(losses),
        losses.map(({ reason }) => reasonOf(reason)),
        losses.map(({ moves }) => moves),
      ),
    );
    report(changes, ({ status, status_reason: reason }) =>
      status === "online" ? reason : `${status} ${reason}`,
    );
    return losses.map(() => undefined);
  });

  /** The recorded connection with its edge; undefined if it is not recorded. */
  const find = readInGroups(async (connections: ConnectionId[]) => {
    const rows = await system.rows(store.selectEdges, ...named(connections));
    const found = new Map(rows.map((row) => [keyOf(row.server_id, row.client_id), row]));
    return connections.map(({ serverId, clientId }) => found.get(keyOf(serverId, clientId)));
  });

  /** A connection has ended: by the host's doing if its edge is alive. */
  async function end(row: store.RecordedConnection, reason: string): Promise<void> {
    const { server_id: serverId, client_id: clientId, edge_id: edgeId } = row;
    const moves = edgeId !== null && !(await sources.isEdgeAlive(edgeId));
    await lose({ serverId, clientId, reason, moves });
  }

  const connected = (connection: FabricConnection) =>
    arrive({ publicKey: connection.user, connection });

  /** Counts the servers that did not answer. Returns those that are lost, and those that may be. */
  function judgeSilent(known: store.RecordedConnection[], { servers, routed }: ListedConnections) {
    const silent = new Set(
      known.map(({ server_id }) => server_id).filter((serverId) => !servers.has(serverId)),
    );
    for (const serverId of misses.keys()) if (!silent.has(serverId)) misses.delete(serverId);
    for (const serverId of silent) misses.set(serverId, (misses.get(serverId) ?? 0) + 1);
    const unreachable = [...silent].filter((serverId) => !routed.has(serverId));
    const isLost = (serverId: string) => misses.get(serverId)! >= mostMisses;
    return {
      lost: new Set(unreachable.filter(isLost)),
      isDoubtful: unreachable.some((serverId) => !isLost(serverId)),
    };
  }

  async function compareOnce(): Promise<Compared> {
    const started = performance.now();
    // Read before the servers are asked: a connection that is recorded after that is not lost.
    const known = await system.rows(store.selectConnections);
    const asked = performance.now();
    const lists = await sources.list();
    const listMs = Math.round(performance.now() - asked);
    const { listed, servers, cut } = lists;
    const there = new Set(listed.map(({ serverId, clientId }) => keyOf(serverId, clientId)));
    const recorded = new Set(known.map((row) => keyOf(row.server_id, row.client_id)));
    const unknown = listed.filter(
      ({ serverId, clientId }) => !recorded.has(keyOf(serverId, clientId)),
    );
    const gone = known.filter(
      (row) =>
        servers.has(row.server_id) &&
        !cut.has(row.server_id) &&
        !there.has(keyOf(row.server_id, row.client_id)),
    );
    await eachOf(unknown, identifiedAtOnce, async (connection) => {
      const identified = await sources.identify(connection);
      if (identified) await connected(identified);
    });
    await Promise.all(gone.map((row) => end(row, "")));
    const { lost, isDoubtful } = judgeSilent(known, lists);
    const orphaned = known.filter((row) => lost.has(row.server_id));
    await Promise.all(
      orphaned.map(({ server_id: serverId, client_id: clientId }) =>
        lose({ serverId, clientId, reason: "", moves: true }),
      ),
    );
    await moveStranded();
    const counts = { listed: listed.length, unknown: unknown.length, gone: gone.length };
    const silent = { cut: cut.size, lostServers: lost.size };
    const ms = Math.round(performance.now() - started);
    log.debug({ ...counts, ...silent, listMs, ms }, "presence compared");
    return { isDoubtful };
  }

  /** An online host without a connection has until the sweep to connect. */
  async function moveStranded(): Promise<void> {
    const stranded = await system.rows(store.selectStranded);
    if (stranded.length === 0) return;
    const instances = [
      stranded.map((row) => row.organization_id),
      stranded.map((row) => row.instance_id),
    ];
    const [, moving] = await system.together(
      query(lockInstances, ...instances),
      query(store.setMoving, ...instances),
    );
    report(moving, () => "moving");
  }

  const compare = oneAtATime(compareOnce);

  return {
    connected,
    async disconnected(connection, reason) {
      let row = await find(connection);
      if (!row) {
        // Another node may still be recording that the connection started.
        await new Promise((resolve) => setTimeout(resolve, lateMs));
        row = await find(connection);
      }
      if (row) await end(row, reason);
    },
    admitted: ({ publicKey, ...edge }) => arrive({ publicKey, edge }),
    async recorded(connection) {
      for (let waitMs = recordWait.firstMs; waitMs <= recordWait.longestMs; waitMs *= 2) {
        if (await find(connection)) return;
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
      // The event that it started is lost, or the node that received it is slow.
      const identified = await sources.identify(connection);
      if (!identified) throw new Error("The connection that said hello is gone.");
      await connected(identified);
    },
    compare,
    async sweep() {
      const longest = Math.max(
        shortestMovingSeconds,
        reconnectSeconds() + movingAfterWindowSeconds,
      );
      if (!(await system.first(store.selectOverdue, longest))) return;
      // The event that the host has connected again may be lost.
      await compare();
      report(await system.rows(store.giveUpMoving, longest), () => "offline link_lost");
    },
  };
}

const keyOf = (serverId: string, clientId: number) => `${serverId} ${clientId}`;

/** The arrays of servers and numbers by which statements name connections. */
function named(connections: ConnectionId[]): [string[], number[]] {
  return [connections.map(({ serverId }) => serverId), connections.map(({ clientId }) => clientId)];
}

/** Handles every item, at most `most` at once. */
async function eachOf<Item>(
  items: readonly Item[],
  most: number,
  handle: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = items[Symbol.iterator]();
  const handleNext = async () => {
    for (const item of waiting) await handle(item);
  };
  await Promise.all(Array.from({ length: most }, handleNext));
}

/** Converts a reason of nats-server to ours. */
function reasonOf(reason: string): string {
  if (/Stale Connection/i.test(reason)) return "daemon_stalled";
  // Only removed hosts are kicked.
  if (/Revoked|Kicked/i.test(reason)) return "revoked";
  return "link_lost";
}
