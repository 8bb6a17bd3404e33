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
  tokens: Pick<TunnelTokens, "useTicket">;
  tunnels: Pick<Tunnels, "add" | "remove">;
  now: () => number;
  /** How long a stream may wait while the host serves as many as it can. */
  waitMs?: number | undefined;
  log: Log;
}

const mostTunnels = 5_000;
/** One that is used, one that replaces it, and one that is lost and not yet known to be. */
const mostOfExposure = 3;
/** A frame of HTTP/2 has at most 16 KiB; a message contains what was written at once. */
const largestMessage = 16 * 1024 * 1024;
/** How long a client may take to read why it was refused. */
const refusalMs = 1_000;

/** Whether an upgrade is for a tunnel. The edge leaves it alone. */
export const isTunnelRequest = ({ url }: IncomingMessage): boolean => url === tunnelPath;

export function createTunnelDoor(parts: TunnelDoorParts): TunnelDoor {
  const { tokens, tunnels, now, waitMs, log } = parts;
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    maxPayload: largestMessage,
    // HTTP/2 has no text messages, so nothing needs to be checked for UTF-8.
    skipUTF8Validation: true,
    // A host that sends pings and does not read would fill the memory with their answers. Both ends ping in HTTP/2.
    autoPong: false,
  });
  /** WebSockets that are open, also those that are not ready or have been replaced, by exposure. */
  const open = new Map<string, number>();
  let isStopping = false;

  function refuse(socket: Duplex, refusal: Refusal): void {
    const headers = refusal.code === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {};
    socket.resume();
    socket.end(rejectionText(reject(refusal, headers), now()));
    setTimeout(() => socket.destroy(), refusalMs).unref();
  }

  function receive(request: IncomingMessage, socket: Duplex, early: Buffer): void {
    socket.on("error", () => {});
    if (isStopping || sockets.clients.size >= mostTunnels) return refuse(socket, noRoom());
    const [, text] = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "") ?? [];
    const ticket = text === undefined ? undefined : tokens.useTicket(text);
    if (!ticket) {
      const message = "The ticket is wrong or too old. The next request will bring a new one.";
      return refuse(socket, new Refusal("unauthenticated", message));
    }
    if ((open.get(ticket.exposureId) ?? 0) >= mostOfExposure) return refuse(socket, noRoom());
    sockets.handleUpgrade(request, socket, early, (webSocket) => void accept(webSocket, ticket));
  }

  async function accept(socket: WebSocket, { exposureId, instanceId }: Ticket): Promise<void> {
    let tunnel: Tunnel | undefined;
    let hasLeft = false;
    open.set(exposureId, (open.get(exposureId) ?? 0) + 1);
    socket.once("close", () => {
      const left = open.get(exposureId)! - 1;
      if (left > 0) open.set(exposureId, left);
      else open.delete(exposureId);
    });
    let isCut = false;
    limitMessages(socket, (reason) => {
      // Messages that have arrived already are still reported.
      if (!isCut) log.warn({ exposureId, instanceId, reason }, "a tunnel was cut");
      isCut = true;
      socket.terminate();
    });
    try {
      tunnel = await startTunnel(socket, {
        ...(waitMs !== undefined && { waitMs }),
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

const noRoom = () => new Refusal("unavailable", "This node takes no tunnel. Dial again.");

/** Messages of a second that are always read, and the size that more must have on average. */
const freeMessages = 10_000;
const smallMessage = 64;

/** Calls `refuse` for messages that cost a node much more than their sender. */
export function limitMessages(
  socket: Pick<WebSocket, "on">,
  refuse: (reason: string) => void,
): void {
  let since = performance.now();
  let messages = 0;
  let bytes = 0;
  socket.on("ping", () => refuse("it sent a ping of WebSocket"));
  socket.on("message", (data: Buffer) => {
    const now = performance.now();
    if (now - since >= 1_000) [since, messages, bytes] = [now, 0, 0];
    messages += 1;
    bytes += data.length;
    if (messages > freeMessages && bytes < messages * smallMessage) refuse("too many messages");
  });
}
