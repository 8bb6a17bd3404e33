// Decides which hosts may open a link: those with a token of ours and a fresh proof that they hold the
// token's key, made for this address. Uses only the request and not the database, so that all hosts can
// come back at once.
import { STATUS_CODES, type IncomingMessage } from "node:http";
import { Refusal, errorBody, refusals } from "@hawser/contract";
import { fabricPath, isProofGood } from "@hawser/host-protocol";
import { only, proveHost } from "../fabric/host-proof.ts";
import type { HostTokens } from "../fabric/host-token.ts";

export interface Admitted {
  publicKey: string;
  instanceId: string;
  /** The checked headers of the WebSocket handshake; nothing else of the request is passed on. */
  handshake: { key: string; protocol: string | undefined };
}

/** The answer to a rejected host, as plain HTTP. */
export interface Rejection {
  status: number;
  refusal: Refusal;
  headers?: Record<string, string>;
}

/** Whether an upgrade is to WebSocket; other upgrades, such as h2c, may be ignored. */
export function isWebSocketUpgrade(request: IncomingMessage): boolean {
  return request.headers.upgrade?.toLowerCase() === "websocket";
}

export function admit(
  request: IncomingMessage,
  early: Buffer,
  tokens: Pick<HostTokens, "read">,
  now: number,
): Admitted | Rejection {
  if (request.url !== fabricPath) {
    return reject(new Refusal("unknown_path", "No WebSocket is served at this path."));
  }
  const handshake = readHandshake(request);
  if (!handshake) return notWebSocket();
  // A host sends nothing before the handshake is answered, so early bytes are not a host's.
  if (early.length > 0 || hasBody(request)) {
    return reject(new Refusal("invalid_input", "The request must have no body."));
  }
  const host = proveHost(request, tokens, now, isProofGood);
  if (host instanceof Refusal) {
    return reject(host, host.code === "unauthenticated" ? { "WWW-Authenticate": "Bearer" } : {});
  }
  return { ...host, handshake };
}

function readHandshake(request: IncomingMessage): Admitted["handshake"] | undefined {
  const key = only(request, "sec-websocket-key");
  const protocol = request.headers["sec-websocket-protocol"];
  const fits =
    request.method === "GET" &&
    isWebSocketUpgrade(request) &&
    only(request, "sec-websocket-version") === "13" &&
    (protocol === undefined || /^[\w.-]+(?:, *[\w.-]+)*$/.test(protocol));
  // Sixteen bytes in base64.
  return fits && key && /^[\w+/]{22}==$/.test(key) ? { key, protocol } : undefined;
}

const hasBody = ({ headers }: IncomingMessage) =>
  headers["transfer-encoding"] !== undefined || (headers["content-length"] ?? "0") !== "0";

function notWebSocket(): Rejection {
  return {
    status: 426,
    refusal: new Refusal("invalid_input", "Hosts connect here, by WebSocket version 13."),
    headers: { Upgrade: "websocket", "Sec-WebSocket-Version": "13" },
  };
}

export function reject(refusal: Refusal, headers: Record<string, string> = {}): Rejection {
  return { status: refusals[refusal.code].status, refusal, headers };
}

/** The whole answer as bytes, for a socket that the HTTP server no longer handles. */
export function rejectionText({ status, refusal, headers }: Rejection, now: number): string {
  const body = JSON.stringify(errorBody(refusal));
  const lines = {
    Date: new Date(now).toUTCString(),
    "Content-Type": "application/json",
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    ...headers,
    // Our clients read the whole answer, so the connection can be closed.
    Connection: headers?.["Upgrade"] ? "Upgrade, close" : "close",
  };
  const head = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${head.join("")}\r\n${body}`;
}
