// Reads from the greeting of a NATS server which connection a host has there. The greeting is the first
// message to the host, in one frame without a mask, so it is plain text. Nothing after it is read.
import type { ConnectionId } from "../fabric/list-connections.ts";
import type { Upstream } from "./nats-dial.ts";

const largestGreeting = 8 * 1024;

/**
 * Calls `found` once, before the socket's other listeners get the chunk that completes the greeting. Must
 * be called before the socket is piped. No-op if the server sends something else.
 */
export function onGreeting(
  { socket, rest }: Pick<Upstream, "socket" | "rest">,
  found: (connection: ConnectionId) => void,
): void {
  let seen = "";
  const read = (chunk: Buffer) => {
    seen += chunk.toString("latin1", 0, largestGreeting);
    const connection = connectionIn(seen);
    if (!connection && seen.length < largestGreeting) return;
    socket.off("data", read);
    if (connection) found(connection);
  };
  socket.on("data", read);
  read(rest);
}

function connectionIn(text: string): ConnectionId | undefined {
  const [, serverId] = /"server_id":"(\w+)"/.exec(text) ?? [];
  const [, clientId] = /"client_id":(\d+)[,}]/.exec(text) ?? [];
  return serverId && clientId ? { serverId, clientId: Number(clientId) } : undefined;
}
