// The public side of exposures: vets each request before anything reaches a host. The order of the checks lets no answer
// depend on the exposure before its password was right (N19).
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Log } from "../log.ts";
import type { ClientAddress } from "./client-address.ts";
import type { Credentials, Denied } from "./credentials.ts";
import { crossSiteReason, isPath, opencodeRules, type PassingRules } from "./headers.ts";
import type { OpenExposure } from "./open-exposure.ts";
import type { OpenStreams, Place } from "./open-streams.ts";
import { limitUnread } from "./pieces.ts";
import { previewRules } from "./preview-headers.ts";
import {
  hasBody,
  refuse,
  relayRequest,
  relayWebSocket,
  responseFor,
  type Passage,
} from "./relay.ts";
import { NoTunnel, type Tunnels } from "./tunnels.ts";
import type { Uses } from "./uses.ts";

export interface PublicDoorParts {
  credentials: Credentials;
  streams: OpenStreams;
  tunnels: Pick<Tunnels, "reach" | "lost">;
  uses: Pick<Uses, "count">;
  clientAddress: ClientAddress;
  /** Counts an answer by its status, and by who gave it. */
  countAnswer: (status: number, from: "service" | "host") => void;
  now: () => number;
  log: Log;
}

/** What the Host header of a request says: the exposure, undefined if it names none, and its origin. */
export interface Target {
  exposureId: string | undefined;
  origin: string;
}

/** A WebSocket's socket, and the bytes that came with its handshake. */
interface Upgrade {
  socket: Socket;
  early: Buffer;
}

interface Admitted {
  request: IncomingMessage;
  response: ServerResponse;
  upgrade: Upgrade | undefined;
  exposure: OpenExposure;
  address: string;
  rules: PassingRules;
  path: string;
  origin: string;
  place: Place;
}

/** What a request of an exposure that has ended is answered. */
const ended: Denied = { denied: "wrong", exposure: undefined };
const methods = new Set(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]);
const longestRequestMs = 600_000;
/** How long the rest of a body is read after the answer. */
const lingerMs = 1_000;
const mostConnections = 10_000;
const badRequestText = "The request is not one of HTTP/1.1.\n";
const badRequest = [
  "HTTP/1.1 400 Bad Request",
  "Content-Type: text/plain",
  `Content-Length: ${badRequestText.length}`,
  "Connection: close",
  `\r\n${badRequestText}`,
].join("\r\n");

/** Makes servers for the public side. `targetOf` reads the Host header, in lower case. */
export function createPublicServer(
  parts: PublicDoorParts,
  targetOf: (host: string) => Target,
): Server {
  const { credentials, streams, tunnels, uses, clientAddress, log } = parts;
  /** Responses with an answer of a host: a server there may answer 502 or 429 as a node does. */
  const ofHosts = new WeakSet<ServerResponse>();

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    upgrade?: Upgrade,
  ): Promise<void> {
    const { url = "" } = request;
    const host = onlyHeader(request, "host");
    const isMalformed = !isPath(url) || !isPlain(request) || (upgrade && !isHandshake(request));
    if (host === undefined || isMalformed) return refuseMalformed(response);
    const { exposureId, origin } = targetOf(host.toLowerCase());
    const reason = crossSiteReason(request, origin);
    if (reason !== undefined) return refuse(response, 403, reason);
    const address = clientAddress(request.socket.remoteAddress, request.headers["x-forwarded-for"]);
    const login = onlyHeader(request, "authorization");
    const exposure = await credentials.check(exposureId, login, address);
    if ("denied" in exposure) return deny(response, exposure, address);
    const rules = rulesFor(exposure);
    const path = rules.path(url);
    if (path === undefined) return refuseMalformed(response);
    const place = await streams.enter(exposure, upgrade ? "webSocket" : "request");
    if (typeof place === "string") return refuse(response, 429, place, { "retry-after": "5" });
    const end = upgrade?.socket ?? response;
    end.once("close", () => place.leave());
    place.onCut((why) => {
      // A request that has no answer is answered as the next one would be.
      const isUnanswered = !upgrade && !response.headersSent && !response.destroyed;
      if (why === "ended" && isUnanswered) deny(response, ended, address);
      else end.destroy();
    });
    if (end.closed || end.destroyed) return place.leave();
    uses.count(exposure, address, "requests", 1);
    await pass({ request, response, upgrade, exposure, address, rules, path, origin, place });
  }

  /** Sends a request to the host; once more if the way was closed before the host has looked at the request. */
  async function pass(admitted: Admitted, isRepeated = false): Promise<void> {
    const { request, response, upgrade, exposure, address, rules, path, origin, place } = admitted;
    const way = await findWay(admitted);
    if (!way || response.headersSent || (upgrade?.socket ?? response).destroyed) return;
    const passage: Passage = {
      way,
      rules,
      path,
      origin,
      count(direction, bytes) {
        uses.count(exposure, address, direction, bytes);
        place.count(bytes);
      },
      answered: () => void ofHosts.add(response),
      lost({ isUnprocessed }) {
        tunnels.lost(exposure.exposureId);
        if (!isUnprocessed || isRepeated || hasBody(request)) return false;
        pass(admitted, true).catch((error: unknown) => failed(request, response, error));
        return true;
      },
    };
    if (upgrade) relayWebSocket(request, response, upgrade, passage);
    else relayRequest(request, response, passage);
  }

  async function findWay({ request, response, exposure, address }: Admitted) {
    try {
      return await tunnels.reach(exposure);
    } catch (error) {
      if (!(error instanceof NoTunnel)) throw error;
      // The host closes its tunnel at once if the exposure has ended, a moment before this node looks it up again.
      const { exposureId } = exposure;
      credentials.forget(exposureId);
      const login = onlyHeader(request, "authorization");
      const checked = await credentials.check(exposureId, login, address);
      if ("denied" in checked) deny(response, checked, address);
      else refuse(response, error.status, error.message, { "retry-after": "5" });
      return undefined;
    }
  }

  function deny(response: ServerResponse, denied: Denied, address: string): void {
    if (denied.denied === "locked") {
      const seconds = String(Math.ceil(denied.lockedMs / 1000));
      const sentence = `Too many wrong passwords came from this address. Try again in ${seconds} s.`;
      return refuse(response, 429, sentence, { "retry-after": seconds });
    }
    // The same bytes for every reason, so no time either.
    response.removeHeader("Date");
    response.sendDate = false;
    refuse(
      response,
      401,
      "This needs the username and the password of an exposure that has not ended. Ask its creator for another one.",
      {
        "www-authenticate": 'Basic realm="Hawser", charset="UTF-8"',
      },
    );
    if (denied.denied === "wrong" && denied.exposure) {
      uses.count(denied.exposure, address, "refused", 1);
    }
  }

  function guarded(request: IncomingMessage, response: ServerResponse, upgrade?: Upgrade): void {
    limitUnread(request, () => request.destroy());
    response.once("close", () => {
      endIfUnread(request);
      if (!response.headersSent) return;
      parts.countAnswer(response.statusCode, ofHosts.has(response) ? "host" : "service");
    });
    response.setHeader("Date", new Date(parts.now()).toUTCString());
    serve(request, response, upgrade).catch((error: unknown) => failed(request, response, error));
  }

  let failures = 0;
  let shownAt = -Infinity;

  function failed(request: IncomingMessage, response: ServerResponse, error: unknown): void {
    failures += 1;
    // Without its database, every request fails.
    if (performance.now() - shownAt > 1_000) {
      const { exposureId } = targetOf((request.headers.host ?? "").toLowerCase());
      log.warn({ err: error, exposureId, failures }, "requests to exposures failed");
      shownAt = performance.now();
      failures = 0;
    }
    const sentence = "The service cannot check exposures right now. Try again in a moment.";
    refuse(response, 503, sentence, { "retry-after": "2" });
  }

  const server = createServer(
    {
      // An offer to speak HTTP/2 is not accepted: the request is an ordinary one.
      shouldUpgradeCallback: ({ method, headers }) =>
        method === "GET" && headers.upgrade?.toLowerCase() === "websocket",
      insecureHTTPParser: false,
      maxHeaderSize: 16 * 1024,
      requireHostHeader: true,
      requestTimeout: longestRequestMs,
      headersTimeout: 15_000,
      connectionsCheckingInterval: 5_000,
      noDelay: true,
    },
    guarded,
  );
  server.maxConnections = mostConnections;
  server.on("checkContinue", guarded);
  server.on("upgrade", (request: IncomingMessage, stream, early: Buffer) => {
    const socket = stream as Socket;
    socket.on("error", () => {}); // "close" follows
    guarded(request, responseFor(request, socket), { socket, early });
  });
  server.on("clientError", (_error, stream) => refuseBytes(stream as Socket));
  return server;
}

function rulesFor({ scope, port }: OpenExposure): PassingRules {
  return scope.kind === "port" ? previewRules({ hasOwnHost: port === null }) : opencodeRules;
}

function refuseMalformed(response: ServerResponse): void {
  const sentence = "The request is malformed, or its method is not served here.";
  refuse(response, 400, sentence, { connection: "close" });
}

/** Whether the request has a known method, and a body whose end every reader finds at the same place. */
function isPlain({ method = "", headers }: IncomingMessage): boolean {
  const coding = headers["transfer-encoding"];
  return methods.has(method) && (coding === undefined || coding.toLowerCase() === "chunked");
}

/** Whether an upgrade is the start of a WebSocket as RFC 6455 has it. */
function isHandshake(request: IncomingMessage): boolean {
  const hasKey = onlyHeader(request, "sec-websocket-key") !== undefined;
  return hasKey && onlyHeader(request, "sec-websocket-version") === "13" && !hasBody(request);
}

/** undefined if the header is missing or comes twice, which different readers would read differently. */
function onlyHeader({ headersDistinct }: IncomingMessage, name: string): string | undefined {
  const values = headersDistinct[name];
  return values?.length === 1 ? values[0] : undefined;
}

/** Bytes that are no request. Nothing of them reaches a host. */
function refuseBytes(socket: Socket): void {
  // After a part of an answer, more bytes would be read as its body.
  if (!socket.writable || socket.bytesWritten > 0) socket.destroy();
  else socket.end(badRequest);
  setTimeout(() => socket.destroy(), lingerMs).unref();
}

/** A client that was answered must not hold a socket with a body that it never finishes. */
function endIfUnread(request: IncomingMessage): void {
  if (request.complete) return;
  setTimeout(() => {
    if (!request.complete) request.destroy();
  }, lingerMs).unref();
}
