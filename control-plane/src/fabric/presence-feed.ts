// Reports to presence what happens to the connections of hosts: the connect and disconnect events of the
// NATS servers, and the notices of edges. Each event goes to one node, and can be lost with it.
import { edgeAdmittedSubject } from "@hawser/host-protocol";
import { z } from "zod";
import type { Log } from "../log.ts";
import type { Fabric } from "./connection.ts";
import type { AdmittedLink } from "./edge-identity.ts";
import type { ConnectionId, FabricConnection } from "./list-connections.ts";

export interface PresenceFeed {
  /** Leaves further events to the other nodes, and resolves once those that arrived are processed. */
  close(): Promise<void>;
}

/** What happens to the connections of hosts. instances/presence.ts records it. */
export interface ConnectionEvents {
  connected(connection: FabricConnection): Promise<void>;
  disconnected(connection: FabricConnection, reason: string): Promise<void>;
  /** An edge has accepted a host, and this is the host's connection. */
  admitted(link: AdmittedLink & { edgeId: string }): Promise<void>;
}

const ConnectionEvent = z.object({
  server: z.object({ id: z.string() }),
  client: z.object({ id: z.number(), user: z.string().default("") }),
  reason: z.string().default(""),
});

const Admitted = z.object({
  publicKey: z.string(),
  edgeId: z.string(),
  serverId: z.string(),
  clientId: z.number(),
});

const queue = "presence";

export function feedPresence(
  fabric: Fabric,
  account: string,
  presence: ConnectionEvents,
  log: Log,
): PresenceFeed {
  /** Events of one connection are processed in their order; events of different connections have no order. */
  const chains = new Map<string, Promise<void>>();

  function inOrder({ serverId, clientId }: ConnectionId, work: () => Promise<void>): void {
    const key = `${serverId} ${clientId}`;
    const next = (chains.get(key) ?? Promise.resolve()).then(work).catch((error: unknown) => {
      // The comparison corrects what is lost here.
      log.warn({ err: error, serverId, clientId }, "a presence event was not processed");
    });
    chains.set(key, next);
    void next.finally(() => {
      if (chains.get(key) === next) chains.delete(key);
    });
  }

  function handleEvents(
    kind: "CONNECT" | "DISCONNECT",
    handle: (connection: FabricConnection, reason: string) => Promise<void>,
  ) {
    return fabric.system.subscribe(`$SYS.ACCOUNT.${account}.${kind}`, { queue }, ({ data }) => {
      const { server, client, reason } = ConnectionEvent.parse(parse(data));
      const connection = { serverId: server.id, clientId: client.id, user: client.user };
      inOrder(connection, () => handle(connection, reason));
    });
  }

  const unsubscribe = [
    handleEvents("CONNECT", (connection) => presence.connected(connection)),
    handleEvents("DISCONNECT", (connection, reason) => presence.disconnected(connection, reason)),
    fabric.subscribe(edgeAdmittedSubject, { queue }, ({ data }) => {
      const link = Admitted.parse(parse(data));
      return presence.admitted(link).catch((error: unknown) => {
        // The connection then has the edge that its host used before.
        log.warn({ err: error, edgeId: link.edgeId }, "the edge of a host was not recorded");
      });
    }),
  ];

  return {
    async close() {
      for (const end of unsubscribe) end();
      await Promise.all(chains.values());
    },
  };
}

function parse(data: Uint8Array): unknown {
  return JSON.parse(Buffer.from(data).toString()) as unknown;
}
