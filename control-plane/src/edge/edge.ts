// The edge: hosts dial it, and it connects each host that proves its identity with a NATS server. It
// reads no message, uses no database, and passes nothing on to NATS from a host that has not proven its
// identity.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Refusal } from "@hawser/contract";
import type { HostTokens } from "../fabric/host-token.ts";
import type { Log } from "../log.ts";
import { admit, reject, rejectionText, type Admitted, type Rejection } from "./admission.ts";
import { createHostLinks, type HostLinkPlace } from "./host-links.ts";
import { createDialer } from "./nats-dial.ts";
import { splice } from "./splice.ts";

export interface EdgeParts {
  tokens: Pick<HostTokens, "read">;
  /** The private WebSocket listeners of the NATS servers, each "host:port". */
  websockets: readonly string[];
  edgeId: string;
  log: Log;
  /** Called for each link before its first byte reaches the host. */
  admitted: (publicKey: string, instanceId: string) => void;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface Edge {
  /** Handles the upgrades of a server. */
  attach(server: Server): void;
  /** How many links are open. */
  connections(): number;
  /** Accepts no more hosts and ends every link. Resolves once all are closed. */
  close(): Promise<void>;
}

const keepAliveMs = 30_000;
/** How long a client may take to read why it was rejected. */
const rejectionMs = 1_000;

export function createEdge(parts: EdgeParts): Edge {
  const { tokens, edgeId, log, now = Date.now } = parts;
  const dial = createDialer(parts.websockets);
  const hostLinks = createHostLinks();
  /** The functions that end the open links. */
  const links = new Set<() => void>();
  const arriving = new Set<Socket>();
  let closed: (() => void) | undefined;

  return {
    attach(server) {
      server.on("upgrade", (request: IncomingMessage, stream: Duplex, early: Buffer) => {
        receive(request, stream as Socket, early).catch((error: unknown) => {
          log.error({ edgeId, err: error }, "a link could not be opened");
          stream.destroy();
        });
      });
    },
    connections: () => links.size,
    close() {
      const done = new Promise<void>((resolve) => (closed = resolve));
      for (const socket of arriving) socket.destroy();
      for (const end of links) end();
      settle();
      return done;
    },
  };

  async function receive(request: IncomingMessage, socket: Socket, early: Buffer): Promise<void> {
    // The HTTP server no longer handles the socket: this code handles its errors, and it has no time
    // limit.
    socket.on("error", () => {}).setTimeout(0);
    if (closed) return send(socket, unavailable("This edge is stopping. Connect again."));
    const admission = admit(request, early, tokens, now());
    if ("refusal" in admission) return send(socket, admission);
    const place = hostLinks.open(admission.publicKey);
    if ("retryAfterMs" in place) return send(socket, tooManyLinks(place.retryAfterMs));
    let isLinked = false;
    try {
      isLinked = await link(socket, admission, place);
    } finally {
      if (!isLinked) place.close();
    }
  }

  /** Returns false if there is no link: the fabric cannot be reached, or the host has left. */
  async function link(
    socket: Socket,
    { publicKey, instanceId, handshake }: Admitted,
    place: HostLinkPlace,
  ): Promise<boolean> {
    arriving.add(socket);
    const upstream = await dial(handshake);
    arriving.delete(socket);
    if (!upstream) {
      log.warn({ edgeId, instanceId }, "no NATS server took a host");
      send(socket, unavailable("The fabric cannot be reached right now. Connect again."));
      return false;
    }
    // The host may have left while NATS was dialled, or close() may have ended its link.
    if (socket.destroyed) {
      upstream.socket.destroy();
      return false;
    }
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    announce(publicKey, instanceId);
    socket.write(dated(upstream.head));
    socket.write(upstream.rest);
    const ended = () => {
      links.delete(end);
      place.close();
      log.debug({ edgeId, instanceId }, "link closed");
      settle();
    };
    const end = splice(socket, upstream.socket, ended, (bytes) => place.received(bytes));
    links.add(end);
    place.linked(end);
    log.debug({ edgeId, instanceId }, "link opened");
    return true;
  }

  /** A host keeps its link even if the notice fails. */
  function announce(publicKey: string, instanceId: string): void {
    try {
      parts.admitted(publicKey, instanceId);
    } catch (error) {
      log.warn({ edgeId, instanceId, err: error }, "a link was not announced");
    }
  }

  /** Hosts also set their clock by this answer. */
  function dated(head: string): string {
    return head.replace("\r\n", `\r\nDate: ${new Date(now()).toUTCString()}\r\n`);
  }

  function send(socket: Socket, rejection: Rejection): void {
    log.debug({ edgeId, status: rejection.status }, "link refused");
    // Read and drop what still arrives; otherwise closing would reset the connection and lose the
    // answer.
    socket.resume().end(rejectionText(rejection, now()));
    const timer = setTimeout(() => socket.destroy(), rejectionMs);
    socket.once("close", () => clearTimeout(timer));
  }

  function unavailable(message: string): Rejection {
    return reject(new Refusal("unavailable", message), { "Retry-After": "1" });
  }

  function tooManyLinks(retryAfterMs: number): Rejection {
    const seconds = Math.ceil(retryAfterMs / 1000);
    const message = `This host has too many links, or opens them too often. Connect again in ${seconds} s.`;
    const refusal = new Refusal("rate_limited", message, { retryAfterMs });
    return reject(refusal, { "Retry-After": String(seconds) });
  }

  function settle(): void {
    if (links.size === 0) closed?.();
  }
}
