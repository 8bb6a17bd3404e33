// Passes one request, or one WebSocket, from the public side into a tunnel, and the answer back. Bytes are passed as they
// come, with backpressure: a client that does not read stops the host.
import { createHash } from "node:crypto";
import { ServerResponse, type IncomingMessage } from "node:http";
import {
  constants,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from "node:http2";
import type { Socket } from "node:net";
import { securityHeaders, type PassingRules } from "./headers.ts";
import { passOn } from "./pieces.ts";
import { noRoomCode, type Way } from "./tunnel.ts";

export interface Passage {
  way: Way;
  rules: PassingRules;
  path: string;
  /** The exposure's own origin. */
  origin: string;
  count: (direction: "bytesIn" | "bytesOut", bytes: number) => void;
  /** The host has answered. */
  answered: () => void;
  /** The way has failed before it answered. Returns whether the request is sent again by another way. */
  lost: (what: { isUnprocessed: boolean }) => boolean;
}

/** How long a host may take to begin its answer: a prompt is answered when its turn has ended. */
const longestAnswerMs = 30 * 60_000;
const keepAliveMs = 30_000;
/** How long a client may take to read why its WebSocket was refused. */
const lingerMs = 1_000;

const cutText = "The tunnel to the host was cut. Try again.";
const noRoomText =
  "This exposure has as many connections open as its host serves at once. Close one first.";
const lateText = "The host did not answer in time. Try again.";

/** Answers with a sentence, or cuts an answer that has begun. No-op after a whole answer. `headers` are added. */
export function refuse(
  response: ServerResponse,
  status: number,
  sentence: string,
  headers: Record<string, string> = {},
): void {
  if (response.writableEnded) return;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${sentence}\n`;
  response.writeHead(status, {
    ...securityHeaders,
    "cache-control": "no-store",
    "content-type": "text/plain; charset=utf-8",
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

export function relayRequest(
  request: IncomingMessage,
  response: ServerResponse,
  passage: Passage,
): void {
  const { way, rules, path, origin, count, lost } = passage;
  const { headers, method = "GET" } = request;
  const endStream = !hasBody(request);
  const out = openStream(
    response,
    way,
    { ...pseudoHeaders(origin, path), ":method": method, ...rules.request(headers) },
    endStream,
    lost,
  );
  if (!out) return;
  if (!endStream) {
    if (headers.expect !== undefined) response.writeContinue();
    request.on("data", (chunk: Buffer) => count("bytesIn", chunk.length));
    passOn(request, out, () => request.destroy());
    // A client that left has not sent its whole body: the host must not take it for whole.
    request.once("close", () => {
      if (!request.complete) cancel(out);
    });
  }
  const wait = awaitAnswer(out, response, lost);
  out.once("response", (headers) => {
    clearTimeout(wait.late);
    passAnswer(out, response, headers, passage);
  });
}

/** Answers in place of a host that is late, or whose tunnel is cut. The stream and the response end together. */
function awaitAnswer(
  out: ClientHttp2Stream,
  response: ServerResponse,
  lost: Passage["lost"],
): { late: NodeJS.Timeout; closed: () => void } {
  const late = setTimeout(() => {
    refuse(response, 504, lateText);
    cancel(out);
  }, longestAnswerMs);
  const closed = () => {
    clearTimeout(late);
    if (response.writableEnded || response.destroyed) return;
    if (out.rstCode === noRoomCode)
      return refuse(response, 429, noRoomText, { "retry-after": "5" });
    // A host that closes a tunnel refuses the requests that it has not looked at.
    const isUnprocessed = out.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    if (!response.headersSent && lost({ isUnprocessed })) return;
    refuse(response, 502, cutText);
  };
  out.once("close", closed);
  response.once("close", () => cancel(out));
  return { late, closed };
}

function passAnswer(
  out: ClientHttp2Stream,
  response: ServerResponse,
  headers: IncomingHttpHeaders & IncomingHttpStatusHeader,
  { rules, origin, count, answered }: Passage,
): void {
  if (response.destroyed || response.headersSent) return;
  answered();
  response.writeHead(statusOf(headers), rules.response(headers, origin));
  out.on("data", (chunk: Buffer) => count("bytesOut", chunk.length));
  passOn(out, response, () => response.destroy());
  // Headers go out with the first bytes of the body. A stream of events may not have any for a while.
  setImmediate(() => response.flushHeaders());
}

/** `response` belongs to the socket of the upgrade, and answers if the WebSocket is refused. */
export function relayWebSocket(
  request: IncomingMessage,
  response: ServerResponse,
  { socket, early }: { socket: Socket; early: Buffer },
  passage: Passage,
): void {
  const { way, rules, path, origin, count, lost } = passage;
  const out = openStream(
    response,
    way,
    {
      ...pseudoHeaders(origin, path),
      ":method": "CONNECT",
      ":protocol": "websocket",
      ...rules.handshake(request.headers),
    },
    false,
    lost,
  );
  if (!out) return;
  const wait = awaitAnswer(out, response, lost);
  out.once("response", (headers) => {
    clearTimeout(wait.late);
    if (statusOf(headers) !== 200) return passAnswer(out, response, headers, passage);
    // The socket is no response from here on; the stream and the socket end together.
    response.detachSocket(socket);
    out.off("close", wait.closed);
    socket.write(switchingText(request, headers));
    splice(socket, out, early, count);
  });
}

function switchingText(request: IncomingMessage, headers: IncomingHttpHeaders): string {
  const key = request.headers["sec-websocket-key"] ?? "";
  const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`);
  const protocol = headers["sec-websocket-protocol"];
  return [
    "HTTP/1.1 101 Switching Protocols",
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Accept: ${accept.digest("base64")}`,
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "\r\n",
  ].join("\r\n");
}

function splice(
  socket: Socket,
  out: ClientHttp2Stream,
  early: Buffer,
  count: Passage["count"],
): void {
  socket.on("data", (chunk: Buffer) => count("bytesIn", chunk.length));
  out.on("data", (chunk: Buffer) => count("bytesOut", chunk.length));
  if (early.length > 0) {
    count("bytesIn", early.length);
    out.write(early);
  }
  passOn(socket, out, () => socket.destroy());
  passOn(out, socket, () => socket.destroy());
  out.once("close", () => socket.destroy());
  socket.once("close", () => cancel(out));
}

/** `close` would end the stream first, and the host could take half a body for a whole one. */
function cancel(out: ClientHttp2Stream): void {
  if (!out.closed) out.destroy(new Error("The client has left."));
}

const pseudoHeaders = (origin: string, path: string) => {
  const { protocol, host } = new URL(origin);
  return { ":scheme": protocol.slice(0, -1), ":authority": host, ":path": path };
};

const statusOf = (headers: IncomingHttpStatusHeader) => headers[":status"] ?? 502;

/** undefined if the way has closed; the request is then sent again or refused. */
function openStream(
  response: ServerResponse,
  way: Way,
  headers: Parameters<Way["open"]>[0],
  endStream: boolean,
  lost: Passage["lost"],
): ClientHttp2Stream | undefined {
  try {
    return way.open(headers, { endStream });
  } catch {
    if (!lost({ isUnprocessed: true })) refuse(response, 502, cutText);
    return undefined;
  }
}

/** A response for the socket of an upgrade, which the HTTP server no longer handles. */
export function responseFor(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.once("finish", () => {
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  });
  socket.setNoDelay(true).setKeepAlive(true, keepAliveMs);
  return response;
}
