// One tunnel: a WebSocket that a host has opened, which carries HTTP/2. The node is the client of it, and the host's
// daemon the server. Everything on a tunnel fails as soon as its WebSocket is closed.
import { connect, type ClientHttp2Stream, type OutgoingHttpHeaders } from "node:http2";
import { createWebSocketStream, type WebSocket } from "ws";

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

const closeMs = 1_000;

export interface TunnelOptions {
  /** Called once, when the tunnel takes no more streams: it is idle, the host closes it, or it is cut. */
  leaving: () => void;
  pingMs?: number;
  idleMs?: number;
  readyMs?: number;
}

/** Resolves once the host has answered in HTTP/2. Rejects if it does not in time; the WebSocket is then closed. */
export async function startTunnel(socket: WebSocket, options: TunnelOptions): Promise<Tunnel> {
  const { leaving, pingMs = 10_000, idleMs = 5 * 60_000, readyMs = 10_000 } = options;
  const bytes = createWebSocketStream(socket, { highWaterMark: 256 * 1024 });
  bytes.on("error", () => {}); // "close" of the WebSocket follows
  const session = connect("http://tunnel", {
    createConnection: () => bytes,
    settings: { enablePush: false, initialWindowSize: streamWindow },
    maxSessionMemory: sessionMemoryMegabytes,
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
  let streams = 0;
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
    if (streams === 0 && !session.destroyed) idle = setTimeout(retire, idleMs);
  }
  restartIdle();

  return {
    open(headers, { endStream }) {
      if (isLeaving) throw new Error("The tunnel takes no more streams.");
      const stream = session.request(headers, { endStream });
      streams += 1;
      clearTimeout(idle);
      stream.on("error", () => {}); // "close" follows
      stream.once("close", () => {
        streams -= 1;
        restartIdle();
      });
      return stream;
    },
    retire,
    close: () => socket.terminate(),
  };
}
