// The edge: hosts dial it, and it connects each host that proves its identity with a NATS server. It
// counts messages and reads none, uses no database, and passes nothing on to NATS from a host that has not proven its
// identity.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Refusal } from "@hawser/contract";
import { createTokenBuckets } from "../dispatch/token-bucket.ts";
import type { AdmittedLink, EdgeLoad } from "../fabric/edge-identity.ts";
import type { HostTokens } from "../fabric/host-token.ts";
import type { Log } from "../log.ts";
import { admit, reject, rejectionText, type Admitted, type Rejection } from "./admission.ts";
import { createMessageCounter } from "./count-messages.ts";
import { onGreeting } from "./greeting.ts";
import { createHostLinks, type HostLinkPlace } from "./host-links.ts";
import { createDialer } from "./nats-dial.ts";
import { createNewLinks } from "./new-links.ts";
import { createRecentMost } from "./recent-most.ts";
import { splice } from "./splice.ts";

export interface EdgeParts {
  tokens: Pick<HostTokens, "read">;
  /** The private WebSocket listeners of the NATS servers, each "host:port". */
  websockets: readonly string[];
  edgeId: string;
  /** How many links the edge opens in a second, at most. */
  linksPerSecond: number;
  log: Log;
  /** Called with the HTTP status of each answer to a host that dials. */
  answered?: (status: number) => void;
  /** Called for each link before the greeting of NATS reaches the host. */
  admitted: (link: AdmittedLink, instanceId: string) => void;
  /** Called when the edge stops, before its links end. Nodes must not count the edge as alive after it. */
  leaving: () => Promise<void>;
  /** Upgrades that another handler of the server answers. */
  leaves?: (request: IncomingMessage) => boolean;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface Edge {
  /** Handles the upgrades of a server. */
  attach(server: Server): void;
  /** How many links are open. */
  connections(): number;
  load(): EdgeLoad;
  /** Accepts no more hosts, reports that the edge leaves, and ends every link. Resolves once all are closed. */
  close(): Promise<void>;
}

const keepAliveMs = 30_000;
/** How long a client may take to read why it was rejected. */
const rejectionMs = 1_000;
/** Links that were open in one to two of these periods count as load. */
const loadPeriodMs = 5 * 60_000;
/** Log lines about an edge that has no room: one a minute. */
const warningRate = { perSecond: 1 / 60, burst: 1 };

export function createEdge(parts: EdgeParts): Edge {
  const { tokens, edgeId, log, answered = () => {}, now = Date.now } = parts;
  const dial = createDialer(parts.websockets);
  const hostLinks = createHostLinks();
  const newLinks = createNewLinks(parts.linksPerSecond);
  const mostLinks = createRecentMost(loadPeriodMs);
  const warnings = createTokenBuckets(warningRate);
  /** The functions that end the open links. */
  const links = new Set<() => void>();
  const arriving = new Set<Socket>();
  let isStopping = false;
  let closed: (() => void) | undefined;

  return {
    attach(server) {
      server.on("upgrade", (request: IncomingMessage, stream: Duplex, early: Buffer) => {
        if (parts.leaves?.(request)) return;
        receive(request, stream as Socket, early).catch((error: unknown) => {
          log.error({ edgeId, err: error }, "a link could not be opened");
          stream.destroy();
        });
      });
    },
    connections: () => links.size,
    load: () => ({ links: mostLinks(links.size), perSecond: newLinks.rate() }),
    async close() {
      isStopping = true;
      for (const socket of arriving) socket.destroy();
      await parts.leaving().catch((error: unknown) => {
        log.warn({ edgeId, err: error }, "the edge stops unannounced");
      });
      const done = new Promise<void>((resolve) => (closed = resolve));
      for (const end of links) end();
      settle();
      await done;
    },
  };

  async function receive(request: IncomingMessage, socket: Socket, early: Buffer): Promise<void> {
    // The HTTP server no longer handles the socket: this code handles its errors, and it has no time
    // limit.
    socket.on("error", () => {}).setTimeout(0);
    if (isStopping) return send(socket, unavailable("This edge is stopping. Connect again.", 1));
    if (!newLinks.hasRoom()) return send(socket, noRoom());
    const admission = admit(request, early, tokens, now());
    if ("refusal" in admission) return send(socket, admission);
    const place = hostLinks.open(admission.publicKey);
    if ("retryAfterMs" in place) return send(socket, tooManyLinks(place.retryAfterMs));
    if (!newLinks.hasRoom(place)) {
      place.close();
      return send(socket, noRoom());
    }
    const opened = newLinks.begin();
    let isLinked = false;
    try {
      isLinked = await link(socket, admission, place);
    } finally {
      opened(isLinked);
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
      // All hosts dial again until the fabric is back, so they are spread as if there were no room.
      const seconds = newLinks.retryAfterSeconds();
      send(socket, unavailable("The fabric cannot be reached right now. Connect again.", seconds));
      return false;
    }
    // The host may have left while NATS was dialled, or close() may have ended its link.
    if (socket.destroyed) {
      upstream.socket.destroy();
      return false;
    }
    socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
    onGreeting(upstream, (connection) => announce({ publicKey, ...connection }, instanceId));
    socket.write(dated(upstream.head));
    socket.write(upstream.rest);
    const ended = () => {
      links.delete(end);
      place.close();
      log.debug({ edgeId, instanceId }, "link closed");
      settle();
    };
    const countMessages = createMessageCounter();
    let messages: number | undefined;
    // Added before the splice, so that it runs before a chunk is passed on: NATS must not process messages
    // that are not counted.
    socket.on("data", (chunk: Buffer) => {
      messages = countMessages(chunk);
      if (messages !== undefined) return;
      log.warn({ edgeId, instanceId }, "a host does not send the NATS protocol; its link ends");
      upstream.socket.destroy();
      socket.destroy();
    });
    const end = splice(socket, upstream.socket, ended, (chunk) =>
      place.received(chunk.length, messages ?? 0),
    );
    links.add(end);
    mostLinks(links.size);
    answered(101);
    place.linked(end);
    log.debug({ edgeId, instanceId }, "link opened");
    return true;
  }

  /** A host keeps its link even if the notice fails. */
  function announce(link: AdmittedLink, instanceId: string): void {
    try {
      parts.admitted(link, instanceId);
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
    answered(rejection.status);
    // Read and drop what still arrives; otherwise closing would reset the connection and lose the
    // answer.
    socket.resume().end(rejectionText(rejection, now()));
    const timer = setTimeout(() => socket.destroy(), rejectionMs);
    socket.once("close", () => clearTimeout(timer));
  }

  function unavailable(message: string, seconds: number): Rejection {
    return reject(new Refusal("unavailable", message), { "Retry-After": String(seconds) });
  }

  function noRoom(): Rejection {
    if (warnings.take("").retryAfterMs === undefined) {
      const rate = Math.round(newLinks.rate());
      log.warn(
        { edgeId, rate },
        "more hosts dial than this edge can link; the others return later",
      );
    }
    const seconds = newLinks.retryAfterSeconds();
    const message = `This edge links other hosts right now. Connect again in ${seconds} s.`;
    return unavailable(message, seconds);
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
