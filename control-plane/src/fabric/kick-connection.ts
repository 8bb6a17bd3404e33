// Ends one connection at a NATS server. Its client may connect again.
import type { Log } from "../log.ts";
import type { Fabric } from "./connection.ts";
import type { FabricConnection } from "./list-connections.ts";

export type KickConnection = (
  connection: Pick<FabricConnection, "serverId" | "clientId" | "user">,
) => Promise<void>;

const timeoutMs = 1_000;

/** The returned function never throws: a connection that stays is found again by the next comparison. */
export function createKick(system: Pick<Fabric["system"], "request">, log: Log): KickConnection {
  return async ({ serverId, clientId, user }) => {
    const connection = { serverId, clientId, publicKey: user };
    try {
      const subject = `$SYS.REQ.SERVER.${serverId}.KICK`;
      await system.request(subject, JSON.stringify({ cid: clientId }), { timeoutMs });
      log.info(connection, "a removed host was disconnected");
    } catch (error) {
      log.warn({ ...connection, err: error }, "a removed host could not be disconnected");
    }
  };
}
