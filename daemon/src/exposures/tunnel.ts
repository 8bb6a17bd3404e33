// A tunnel: a WebSocket that the host opens to the control plane, with HTTP/2 in the other direction. The host
// is the HTTP server, so it answers requests without a port that others can reach. What is served is decided by
// the caller.
import {
  constants,
  performServerHandshake,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createWebSocketStream, WebSocket } from "ws";
import { describe, type Log } from "../log.ts";
import { within } from "../pause.ts";
import { proxyAgent } from "../proxies.ts";

export interface TunnelOptions {
  url: string;
  /** Sent as bearer token when the WebSocket is opened. */
  ticket: string;
  /** Answers one request. The stream has a handler for errors. */
  serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
  timing?: Partial<TunnelTiming> | undefined;
  log: Log;
}

/** Why a tunnel ended. `lost`: the connection was cut, or the other side closed it. */
export type TunnelEnd = "idle" | "expired" | "session_ended" | "stopped" | "forbidden" | "lost";

export interface Tunnel {
  /** Resolves when the tunnel and everything that ran through it has ended. */
  ended: Promise<TunnelEnd>;
  /** Ends every stream at once. No-op if the tunnel has ended. */
  close(reason: TunnelEnd): void;
  /** Asks the other side for a sign of life. Ends the tunnel if there is none in time. */
  isAlive(): Promise<boolean>;
}

export interface TunnelTiming {
  /** For the WebSocket's handshake. */
  dialMs: number;
  /** How long a tunnel stays open without a stream. */
  idleMs: number;
  /** How often the other side is asked for a sign of life, and how long it may take. */
  pingMs: number;
  pongMs: number;
  /** How long it may take if somebody waits for it. */
  signMs: number;
}

const usualTiming: TunnelTiming = {
  dialMs: 10_000,
  idleMs: 5 * 60_000,
  pingMs: 15_000,
  pongMs: 10_000,
  signMs: 2_000,
};

/** Each node admits 100, and several nodes may use the tunnel. At the limit, streams that were cancelled still count. */
export const mostStreams = 500;
const longestHeaders = 32 * 1024;
/** More than fit into their longest length. By default, HTTP/2 refuses more than 128, which HTTP/1.1 allows. */
const mostHeaders = 2_000;
const largestMessage = 16 * 1024 * 1024;
/** For the other side to confirm the end of the WebSocket. */
const closeMs = 300;

/** Resolves when the WebSocket is open. Throws if it is refused, or not open in time. */
export function openTunnel(options: TunnelOptions, signal: AbortSignal): Promise<Tunnel> {
  const timing = { ...usualTiming, ...options.timing };
  const socket = new WebSocket(options.url, {
    headers: { authorization: `Bearer ${options.ticket}` },
    perMessageDeflate: false,
    agent: proxyAgent(new URL(options.url)),
    // TLS protects the tunnel, so a mask protects nothing. ws leaves the bytes as they are if it is zero.
    generateMask: (mask) => mask.fill(0),
    handshakeTimeout: timing.dialMs,
    maxPayload: largestMessage,
  });
  return new Promise((resolve, reject) => {
    const abort = () => socket.terminate();
    signal.addEventListener("abort", abort);
    const settle = (finish: () => void) => {
      signal.removeEventListener("abort", abort);
      finish();
    };
    if (signal.aborted) abort();
    socket.on("error", (error) => settle(() => reject(error)));
    socket.on("unexpected-response", (request, { statusCode = 0 }) => {
      request.destroy();
      settle(() => reject(new Error(`The control plane refused the tunnel (${statusCode}).`)));
    });
    // Served in the same tick: no byte of the other side may arrive before somebody reads it.
    socket.on("open", () => settle(() => resolve(serveOver(socket, options, timing))));
  });
}

function serveOver(socket: WebSocket, options: TunnelOptions, timing: TunnelTiming): Tunnel {
  const { serve, log } = options;
  const ended = Promise.withResolvers<TunnelEnd>();
  const streams = new Set<ServerHttp2Stream>();
  let end: TunnelEnd | undefined;
  const note = (error: Error) => {
    // Every cut is an error for those whose bytes it cuts.
    if (end === undefined) log.warn("a tunnel failed", { error: describe(error) });
  };

  const duplex = createWebSocketStream(socket, { highWaterMark: 256 * 1024 });
  duplex.on("error", note);
  const session = performServerHandshake(duplex, {
    maxHeaderListPairs: mostHeaders,
    // By default, streams are refused while 10 MB wait to be sent.
    maxSessionMemory: 64,
    settings: {
      initialWindowSize: 256 * 1024,
      enableConnectProtocol: true,
      maxConcurrentStreams: mostStreams,
      maxHeaderListSize: longestHeaders,
    },
  });
  session.on("error", note);
  session.on("stream", (stream, headers) => {
    // A stream without a handler for errors would end the daemon.
    stream.on("error", () => {});
    if (end !== undefined) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    streams.add(stream);
    idle.hold();
    stream.once("close", () => {
      streams.delete(stream);
      if (streams.size === 0) idle.release();
    });
    serve(stream, headers);
  });
  let isLeft = false;
  session.once("goaway", () => (isLeft = true));
  session.once("close", () => close("lost"));
  // HTTP/2 does not notice that its connection is gone, and would leave requests waiting.
  socket.once("close", () => {
    close("lost");
    session.destroy();
    duplex.destroy();
    ended.resolve(end!);
  });
  const idle = watchIdle(timing.idleMs, () => close("idle"));
  const stopPings = keepAlive(session, timing, () => socket.terminate());

  function close(reason: TunnelEnd): void {
    if (end !== undefined) return;
    end = reason;
    idle.stop();
    stopPings();
    for (const stream of streams) stream.destroy();
    if (socket.readyState === WebSocket.CLOSED) return;
    socket.close(1000, reason);
    setTimeout(() => socket.terminate(), closeMs).unref();
  }

  async function isAlive(): Promise<boolean> {
    if (end !== undefined || isLeft || session.destroyed) return false;
    const answered = new Promise<void>((resolve, reject) => {
      session.ping((error) => (error ? reject(error) : resolve()));
    });
    const isHere = await within(timing.signMs, answered).catch(() => false);
    if (!isHere) socket.terminate();
    return isHere && end === undefined;
  }

  return { ended: ended.promise, close, isAlive };
}

/** Calls `onIdle` if nothing holds it for so long. */
function watchIdle(ms: number, onIdle: () => void) {
  let timer = setTimeout(onIdle, ms);
  timer.unref();
  let isStopped = false;
  return {
    hold: () => clearTimeout(timer),
    release() {
      if (isStopped) return;
      clearTimeout(timer);
      timer = setTimeout(onIdle, ms);
      timer.unref();
    },
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}

/** A cut cable closes no connection: calls `onSilence` if the other side no longer answers. */
function keepAlive(
  session: ServerHttp2Session,
  { pingMs, pongMs }: TunnelTiming,
  onSilence: () => void,
): () => void {
  let late: NodeJS.Timeout | undefined;
  const timer = setInterval(() => {
    if (session.destroyed || late !== undefined) return;
    late = setTimeout(onSilence, pongMs);
    late.unref();
    session.ping(() => {
      clearTimeout(late);
      late = undefined;
    });
  }, pingMs);
  timer.unref();
  return () => {
    clearInterval(timer);
    clearTimeout(late);
  };
}
