// The host's end of exposures: opens tunnels over real WebSockets, and answers the requests that come through them.
import { once } from "node:events";
import {
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { tunnelPath } from "@hawser/host-protocol";
import { WebSocket, createWebSocketStream } from "ws";

export type TunnelHandler = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;

export interface TunnelHost extends Disposable {
  /** Opens a tunnel at a node. Rejects if the node does not accept it. */
  dial(nodeUrl: string, ticket: string): Promise<void>;
  /** How many tunnels were opened so far. */
  dialled(): number;
  /** Closes every tunnel in order, as a host does with one that is not used. */
  retire(): void;
  /** Cuts every tunnel, as a broken network does. */
  cut(): void;
}

/** `mostStreams`: how many streams a tunnel may have at once. */
export function createTunnelHost(handle: TunnelHandler, mostStreams = 500): TunnelHost {
  const sockets = new Map<WebSocket, ServerHttp2Session>();
  let dialled = 0;
  const cut = () => {
    for (const socket of sockets.keys()) socket.terminate();
  };
  return {
    async dial(nodeUrl, ticket) {
      const socket = new WebSocket(`${nodeUrl.replace(/^http/, "ws")}${tunnelPath}`, {
        headers: { authorization: `Bearer ${ticket}` },
        perMessageDeflate: false,
        // TLS protects the tunnel, so a mask protects nothing. ws leaves bytes alone if it is zero.
        generateMask: (mask) => mask.fill(0),
      });
      socket.on("error", () => {});
      // Listens before it is open: the node's first bytes come with its answer.
      const session = serve(socket, handle, mostStreams);
      socket.once("close", () => {
        sockets.delete(socket);
        session.destroy();
      });
      await once(socket, "open");
      sockets.set(socket, session);
      dialled += 1;
    },
    dialled: () => dialled,
    retire: () => sockets.forEach((session) => session.close()),
    cut,
    [Symbol.dispose]: cut,
  };
}

function serve(socket: WebSocket, handle: TunnelHandler, mostStreams: number): ServerHttp2Session {
  const bytes = createWebSocketStream(socket, { highWaterMark: 256 * 1024 });
  bytes.on("error", () => {});
  const session = performServerHandshake(bytes, {
    settings: {
      enableConnectProtocol: true,
      initialWindowSize: 512 * 1024,
      maxConcurrentStreams: mostStreams,
    },
    // By default, streams are refused while 10 MB wait to be sent.
    maxSessionMemory: 128,
    maxHeaderListPairs: 2_000,
  });
  session.on("error", () => {});
  session.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    handle(stream, headers);
  });
  return session;
}
