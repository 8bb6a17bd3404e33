// Reports to presence which hosts are connected: connect and disconnect events as they happen, and a
// comparison with the lists of all servers, for lost events.
import { edgeAdmittedSubject } from "@hawser/host-protocol";
import { z } from "zod";
import type { Log } from "../log.ts";
import type { Fabric } from "./connection.ts";
import { edgeOfConnection } from "./edge-identity.ts";
import {
  listConnections,
  type FabricConnection,
  type ListedConnections,
} from "./list-connections.ts";

export interface PresenceFeed {
  /** Asks every server for its connections and makes presence equal to them. */
  compare(): Promise<void>;
}

/** What happens to the connections of hosts. instances/presence.ts records it. */
export interface ConnectionEvents {
  connected(connection: FabricConnection): Promise<void>;
  disconnected(connection: FabricConnection, reason: string): Promise<void>;
  /** An edge has died, and with it the links of its hosts. */
  edgeLost(edgeId: string): Promise<void>;
  /** An edge has its connection again: it was not the edge that was lost. */
  edgeBack(edgeId: string): Promise<void>;
  /** An edge has accepted a host that will connect next. */
  admitted(publicKey: string, edgeId: string): Promise<void>;
  /** Makes the record equal to what all living servers list. `list` asks the servers. */
  compare(list: () => Promise<ListedConnections>): Promise<void>;
}

const ConnectionEvent = z.object({
  server: z.object({ id: z.string() }),
  client: z.object({
    id: z.number(),
    user: z.string().default(""),
    name: z.string().default(""),
    jwt: z.string().default(""),
  }),
  reason: z.string().default(""),
});

const Admitted = z.strictObject({ publicKey: z.string(), edgeId: z.string() });

const queue = "presence";

export function feedPresence(
  fabric: Fabric,
  account: string,
  presence: ConnectionEvents,
  log: Log,
): PresenceFeed {
  /** Events of one connection are processed in their order; events of different connections have no order. */
  const chains = new Map<string, Promise<void>>();

  function inOrder(connection: FabricConnection, work: () => Promise<void>): void {
    const key = `${connection.serverId} ${connection.clientId}`;
    const next = (chains.get(key) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      // The comparison corrects what is lost here.
      log.warn({ err: error, ...connection }, "a presence event was not processed");
    });
    chains.set(key, next);
    void next.finally(() => {
      if (chains.get(key) === next) chains.delete(key);
    });
  }

  function handleEvents(
    kind: "CONNECT" | "DISCONNECT",
    take: (
      connection: FabricConnection,
      event: { reason: string; edgeId: string | undefined },
    ) => Promise<void>,
  ) {
    fabric.system.subscribe(`$SYS.ACCOUNT.${account}.${kind}`, { queue }, ({ data }) => {
      const { server, client, reason } = ConnectionEvent.parse(parse(data));
      const connection = {
        serverId: server.id,
        clientId: client.id,
        user: client.user,
        name: client.name,
      };
      const edgeId = edgeOfConnection(client);
      inOrder(connection, () => take(connection, { reason, edgeId }));
    });
  }

  handleEvents("CONNECT", (connection, { edgeId }) =>
    edgeId ? presence.edgeBack(edgeId) : presence.connected(connection),
  );
  handleEvents("DISCONNECT", (connection, { reason, edgeId }) =>
    edgeId ? presence.edgeLost(edgeId) : presence.disconnected(connection, reason),
  );
  fabric.subscribe(edgeAdmittedSubject, { queue }, async ({ data }) => {
    const { publicKey, edgeId } = Admitted.parse(parse(data));
    await presence.admitted(publicKey, edgeId);
  });

  return { compare: () => presence.compare(() => listConnections(fabric.system, account)) };
}

function parse(data: Uint8Array): unknown {
  return JSON.parse(Buffer.from(data).toString()) as unknown;
}
