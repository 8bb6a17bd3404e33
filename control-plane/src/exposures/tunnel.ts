// One tunnel: a WebSocket that a host has opened, which carries HTTP/2. The node is the client of it, and the host's
// daemon the server. Everything on a tunnel fails as soon as its WebSocket is closed.
import { connect, constants, type ClientHttp2Stream, type OutgoingHttpHeaders } from "node:http2";
import { createWebSocketStream, type WebSocket } from "ws";
import { limitUnread } from "./pieces.ts";

/** A way to a host's end of an exposure. */
export interface Way {
  /** Throws if the way is closed. The stream has an error handler. */
  open(headers: OutgoingHttpHeaders, options: { endStream: boolean }): ClientHttp2Stream;
}

export interface Tunnel extends Way {
  /** Takes no more streams, and closes when the open ones have ended. */
  retire(): void;
  close(): void;
}

/**
 * A stream that its reader does not read holds at most this much here; the host then stops. On a long way, a larger
 * window is faster: 512 KiB at 100 ms allow 5 MB/s for each stream.
 */
export const streamWindow = 512 * 1024;
export const connectionWindow = 16 * 1024 * 1024;
export const sessionMemoryMegabytes = 128;
/** More than fit into their longest length. By default, HTTP/2 refuses more than 128, which HTTP/1.1 allows. */
export const mostHeaders = 2_000;

/** Closes a stream for which the host had no room. Other nodes are told with it too. */
export const noRoomCode = constants.NGHTTP2_ENHANCE_YOUR_CALM;

const closeMs = 1_000;

export interface TunnelOptions {
  /** Called once, when the tunnel takes no more streams: it is idle, the host closes it, or it is cut. */
  leaving: () => void;
  pingMs?: number;
  idleMs?: number;
  readyMs?: number;
  /** How long a stream may wait while the host serves as many as it can. */
  waitMs?: number;
}

/** Resolves once the host has answered in HTTP/2. Rejects if it does not in time; the WebSocket is then closed. */
export async function startTunnel(socket: WebSocket, options: TunnelOptions): Promise<Tunnel> {
  const {
    leaving,
    pingMs = 10_000,
    idleMs = 5 * 60_000,
    readyMs = 10_000,
    waitMs = 10_000,
  } = options;
  const bytes = createWebSocketStream(socket, { highWaterMark: 256 * 1024 });
  bytes.on("error", () => {}); // "close" of the WebSocket follows
  const session = connect("http://tunnel", {
    createConnection: () => bytes,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: sessionMemoryMegabytes,
    maxHeaderListPairs: mostHeaders,
  });
  let isLeaving = false;
  const leave = () => {
    if (isLeaving) return;
    isLeaving = true;
    leaving();
  };
  session.on("error", () => socket.terminate());
  session.once("goaway", leave);
  session.once("close", () => {
    leave();
    socket.close();
    // The host may never answer the close.
    setTimeout(() => socket.terminate(), closeMs).unref();
  });
  /** Streams that the host serves. */
  const served = new Set<ClientHttp2Stream>();
  /** Streams beyond those that the host serves at once. HTTP/2 sends them in this order when others end. */
  const waiting = new Set<ClientHttp2Stream>();
  let idle: NodeJS.Timeout | undefined;
  let isAnswered = true;
  const pings = setInterval(() => {
    // A half-open connection reports no error by itself.
    if (!isAnswered || session.destroyed) return socket.terminate();
    isAnswered = false;
    session.ping((error) => {
      if (!error) isAnswered = true;
    });
  }, pingMs);
  const ready = Promise.withResolvers<void>();
  const late = setTimeout(() => socket.terminate(), readyMs);
  session.once("remoteSettings", () => ready.resolve());
  socket.on("error", () => {});
  socket.once("close", () => {
    clearInterval(pings);
    clearTimeout(idle);
    ready.reject(new Error("The host closed the tunnel before it was ready."));
    // Without it, pending requests would wait forever.
    session.destroy(new Error("The tunnel was cut."));
    leave();
  });
  await ready.promise.finally(() => clearTimeout(late));
  session.setLocalWindowSize(connectionWindow);

  function retire(): void {
    leave();
    session.close();
  }
  function restartIdle(): void {
    clearTimeout(idle);
    if (served.size + waiting.size === 0 && !session.destroyed) idle = setTimeout(retire, idleMs);
  }
  restartIdle();

  /** Several nodes share the tunnel, so each may be below its own limit. */
  function limitWait(stream: ClientHttp2Stream): void {
    waiting.add(stream);
    const late = setTimeout(() => {
      if (!waiting.has(stream)) return;
      stream.close(noRoomCode);
      stream.destroy();
    }, waitMs);
    stream.once("close", () => clearTimeout(late));
  }

  function end(stream: ClientHttp2Stream): void {
    waiting.delete(stream);
    if (!served.delete(stream)) return;
    const [next] = waiting;
    if (!next) return;
    waiting.delete(next);
    served.add(next);
  }

  return {
    open(headers, { endStream }) {
      if (isLeaving) throw new Error("The tunnel takes no more streams.");
      const stream = session.request(headers, { endStream });
      limitUnread(stream, () => stream.destroy(new Error("Too many small pieces wait.")));
      clearTimeout(idle);
      stream.on("error", () => {}); // "close" follows
      if (served.size < (session.remoteSettings.maxConcurrentStreams ?? Infinity)) {
        served.add(stream);
      } else limitWait(stream);
      stream.once("close", () => {
        end(stream);
        restartIdle();
      });
      return stream;
    },
    retire,
    close: () => socket.terminate(),
  };
}
