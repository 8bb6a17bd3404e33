// The private door of a node: other nodes forward requests to it, for exposures whose tunnel this node holds. It serves
// nothing without a token of a node for exactly that request (N20).
import { once } from "node:events";
import {
  constants,
  createServer,
  type Http2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import { ConfigError } from "../config.ts";
import { exposureHeader, nodeTokenHeader } from "./peers.ts";
import type { TunnelTokens } from "./tokens.ts";
import {
  connectionWindow,
  noRoomCode,
  mostHeaders,
  sessionMemoryMegabytes,
  streamWindow,
  type Way,
} from "./tunnel.ts";

export interface NodeDoor {
  /** The address that other nodes use, "host:port". */
  address: string;
  close(): Promise<void>;
}

export interface NodeDoorParts {
  listen: { host: string; port: number };
  tokens: Pick<TunnelTokens, "acceptNodeToken">;
  /** The tunnel that this node holds. */
  held: (exposureId: string) => Way | undefined;
}

/** Headers that end here. The rest was chosen by the node that sent it. */
const ownHeaders = new Set([exposureHeader, nodeTokenHeader, "host"]);

export async function openNodeDoor(parts: NodeDoorParts): Promise<NodeDoor> {
  const { listen, tokens, held } = parts;
  const server = createServer({
    settings: { enableConnectProtocol: true, initialWindowSize: streamWindow },
    maxSessionMemory: sessionMemoryMegabytes,
    maxHeaderListPairs: mostHeaders,
  });
  const sessions = new Set<ServerHttp2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(connectionWindow);
    session.on("error", () => session.destroy());
    session.once("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {}); // "close" follows
    const exposureId = String(headers[exposureHeader] ?? "");
    const isGood = tokens.acceptNodeToken(String(headers[nodeTokenHeader] ?? ""), {
      exposureId,
      method: String(headers[":method"]),
      path: String(headers[":path"]),
    });
    if (!isGood) return stream.respond({ ":status": 403 }, { endStream: true });
    const way = held(exposureId);
    if (!way) return refuse(stream);
    forward(stream, headers, way);
  });
  server.listen(listen.port, listen.host);
  await once(server, "listening").catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== "EADDRINUSE") throw cause;
    throw new ConfigError(
      `The address ${listen.host}:${listen.port} is already in use. Stop the program that listens there, or set another with HAWSER_NODE_LISTEN.`,
    );
  });
  const { port } = server.address() as AddressInfo;
  return {
    address: `${listen.host.includes(":") ? `[${listen.host}]` : listen.host}:${port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function forward(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, way: Way): void {
  const kept = Object.fromEntries(
    Object.entries(headers).filter(([name]) => !ownHeaders.has(name)),
  );
  const endStream = stream.endAfterHeaders;
  let out;
  try {
    out = way.open(kept, { endStream });
  } catch {
    return refuse(stream);
  }
  if (!endStream) stream.pipe(out);
  out.once("response", (answered) => {
    if (stream.destroyed || stream.headersSent) return;
    try {
      stream.respond(answered);
    } catch {
      // The host chose headers that HTTP/2 cannot pass on. An exception in this handler would end the node.
      return cut(stream);
    }
    out.pipe(stream);
  });
  out.once("close", () => {
    if (stream.writableEnded) return;
    const isUnprocessed = !stream.headersSent && out.rstCode === constants.NGHTTP2_REFUSED_STREAM;
    if (isUnprocessed) refuse(stream);
    else if (!stream.headersSent && out.rstCode === noRoomCode) stream.close(noRoomCode);
    else cut(stream);
  });
  stream.once("close", () => {
    if (!out.closed) cut(out);
  });
}

/** The other node learns that the host has not looked at the request, which may then be sent again. */
function refuse(stream: ServerHttp2Stream): void {
  stream.close(constants.NGHTTP2_REFUSED_STREAM);
}

/** `close` would end the stream first, and the reader could take a part for the whole. */
function cut(stream: Http2Stream): void {
  stream.destroy(new Error("The tunnel was cut."));
}
