// Where hosts open tunnels: a WebSocket on the node's one port, with a ticket that a node has signed.
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import { Refusal } from "@hawser/contract";
import { tunnelPath } from "@hawser/host-protocol";
import { WebSocketServer, type WebSocket } from "ws";
import { reject, rejectionText } from "../edge/admission.ts";
import type { Log } from "../log.ts";
import type { Ticket, TunnelTokens } from "./tokens.ts";
import { startTunnel, type Tunnel } from "./tunnel.ts";
import type { Tunnels } from "./tunnels.ts";

export interface TunnelDoor {
  /** Handles the upgrades of a server that are for tunnels. Others are left to other handlers. */
  attach(server: Server): void;
  /** Accepts no more tunnels. */
  close(): void;
}

export interface TunnelDoorParts {
  tokens: Pick<TunnelTokens, "readTicket">;
  tunnels: Pick<Tunnels, "add" | "remove" | "ids">;
  now: () => number;
  log: Log;
}

const mostTunnels = 5_000;
/** A frame of HTTP/2 has at most 16 KiB; a message contains what was written at once. */
const largestMessage = 16 * 1024 * 1024;
/** How long a client may take to read why it was refused. */
const refusalMs = 1_000;

/** Whether an upgrade is for a tunnel. The edge leaves it alone. */
export const isTunnelRequest = ({ url }: IncomingMessage): boolean => url === tunnelPath;

export function createTunnelDoor({ tokens, tunnels, now, log }: TunnelDoorParts): TunnelDoor {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: largestMessage,
    // HTTP/2 has no text messages, so nothing needs to be checked for UTF-8.
    skipUTF8Validation: true,
  });
  let isStopping = false;

  function refuse(socket: Duplex, refusal: Refusal): void {
    const headers = refusal.code === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {};
    socket.resume();
    socket.end(rejectionText(reject(refusal, headers), now()));
    setTimeout(() => socket.destroy(), refusalMs).unref();
  }

  function receive(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    socket.on("error", () => {});
    if (isStopping || tunnels.ids().length >= mostTunnels) {
      return refuse(socket, new Refusal("unavailable", "This node takes no tunnel. Dial again."));
    }
    const [, text] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
    const ticket = text === undefined ? undefined : tokens.readTicket(text);
    if (!ticket) {
      const message = "The ticket is wrong or too old. The next request will bring a new one.";
      return refuse(socket, new Refusal("unauthenticated", message));
    }
    sockets.handleUpgrade(request, socket, early, (webSocket) => void accept(webSocket, ticket));
  }

  async function accept(socket: WebSocket, { exposureId, instanceId }: Ticket): Promise<void> {
    let tunnel: Tunnel | undefined;
    let hasLeft = false;
    try {
      tunnel = await startTunnel(socket, {
        leaving() {
          hasLeft = true;
          if (tunnel) tunnels.remove(exposureId, tunnel);
          log.debug({ exposureId, instanceId }, "tunnel left");
        },
      });
    } catch (error) {
      log.warn({ err: error, exposureId, instanceId }, "a tunnel could not be opened");
      return;
    }
    if (hasLeft) return;
    if (isStopping) return tunnel.close();
    tunnels.add(exposureId, tunnel);
    log.debug({ exposureId, instanceId }, "tunnel opened");
  }

  return {
    attach(server) {
      server.on("upgrade", (request: IncomingMessage, socket: Duplex, early: Buffer) => {
        if (isTunnelRequest(request)) receive(request, socket, early);
      });
    },
    close() {
      isStopping = true;
    },
  };
}
