// One connection to the fabric: the upgrade at the edge, with a proof by the host's key, then the NATS
// handshake over it. The client library's own reconnect is off; the link decides when to dial again.
import { fabricPath, inboxPrefix, makeProof, proofHeader, type Nkey } from "@hawser/host-protocol";
import { errors, wsconnect, type NatsConnection } from "@nats-io/nats-core";
import { WebSocket } from "ws";
import { within } from "../pause.ts";
import { proxyAgent } from "../proxies.ts";
import { EdgeBusy, readRetryAfter } from "./edge-busy.ts";
import type { ServerClock } from "./server-clock.ts";

export interface Dialling {
  serverUrl: string;
  instanceId: string;
  key: Nkey;
  /** Read at each use, because a renewal may have replaced it. */
  token: () => string;
  clock: ServerClock;
  pingMs: number;
  patienceMs: number;
}

export interface Connection {
  nats: NatsConnection;
  /** The token with which the connection was made. */
  token: string;
  /** Resolves when the connection has ended, with the reason as far as it is known. */
  closed: Promise<Ending>;
  isClosed: () => boolean;
  /** Ends the connection at once, without closing it first. */
  cut: () => void;
}

export interface Ending {
  reason: string;
  /** Whether the server ended it because the token expired. */
  expired: boolean;
}

/** The edge or the fabric refuses the token or the proof. */
export class NotAdmitted extends Error {
  /** By how much the same answer corrected the clock, in milliseconds. */
  readonly clockMoved: number;

  constructor(message: string, clockMoved: number, options?: ErrorOptions) {
    super(message, options);
    this.clockMoved = clockMoved;
  }
}

export async function dial(dialling: Dialling, signal: AbortSignal): Promise<Connection> {
  const token = dialling.token();
  const socket = await upgrade(dialling, token, signal);
  const cut = () => socket.terminate();
  signal.addEventListener("abort", cut);
  try {
    const nats = await greet(dialling, token, socket);
    return watch(nats, token, cut);
  } catch (cause) {
    cut();
    if (cause instanceof errors.AuthorizationError || isExpiry(cause)) {
      throw new NotAdmitted("The fabric does not accept this host's token.", 0, { cause });
    }
    throw cause;
  } finally {
    signal.removeEventListener("abort", cut);
  }
}

const isExpiry = (error: unknown) => error instanceof errors.UserAuthenticationExpiredError;

/** Opens the WebSocket and pauses it, so that nothing arrives before somebody reads it. */
function upgrade(
  { serverUrl, key, clock, patienceMs }: Dialling,
  token: string,
  signal: AbortSignal,
): Promise<WebSocket> {
  const url = new URL(fabricPath, serverUrl);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, {
      headers: {
        authorization: `Bearer ${token}`,
        [proofHeader]: makeProof(key, url.host, Math.round(clock.now())),
      },
      perMessageDeflate: false,
      agent: proxyAgent(url),
      handshakeTimeout: patienceMs,
    });
    const abort = () => socket.terminate();
    const settle = (finish: () => void) => {
      signal.removeEventListener("abort", abort);
      finish();
    };
    signal.addEventListener("abort", abort);
    if (signal.aborted) abort();
    // The library removes its own listener when it is done, and an error may follow.
    socket.on("error", (error) => settle(() => reject(error)));
    socket.on("upgrade", ({ headers }) => clock.learn(headers.date));
    socket.on("unexpected-response", (request, { statusCode = 0, headers }) => {
      const moved = clock.learn(headers.date);
      const message = `The edge refused the link (${statusCode}).`;
      request.destroy();
      settle(() => reject(refusalOf(statusCode, headers["retry-after"], message, moved)));
    });
    socket.on("open", () => {
      socket.pause();
      settle(() => resolve(socket));
    });
  });
}

function refusalOf(
  status: number,
  retryAfter: string | undefined,
  message: string,
  clockMoved: number,
): Error {
  if (status === 401 || status === 403) return new NotAdmitted(message, clockMoved);
  const waitMs = status === 429 || status === 503 ? readRetryAfter(retryAfter) : undefined;
  return waitMs === undefined ? new Error(message) : new EdgeBusy(message, waitMs);
}

async function greet(
  { instanceId, key, pingMs, patienceMs }: Dialling,
  token: string,
  socket: WebSocket,
): Promise<NatsConnection> {
  // A silent socket is destroyed, which ends the handshake; the library's own limit would continue to
  // wait for the other side to close.
  const late = setTimeout(() => socket.terminate(), patienceMs);
  const lost = watchClose(socket);
  try {
    const connecting = wsconnect({
      // The URL is only a name: the socket is open already.
      servers: "ws://fabric",
      wsFactory: () => {
        // By then the library listens.
        setImmediate(() => socket.resume());
        return Promise.resolve({
          socket: socket as unknown as globalThis.WebSocket,
          encrypted: false,
        });
      },
      name: instanceId,
      authenticator: (nonce) => ({
        jwt: token,
        nkey: key.publicKey,
        sig: key.sign(nonce ?? "").toString("base64url"),
      }),
      inboxPrefix: inboxPrefix(instanceId),
      ignoreClusterUpdates: true,
      reconnect: false,
      pingInterval: pingMs,
      maxPingOut: 2,
      timeout: patienceMs * 2,
      noAsyncTraces: true,
    });
    connecting.catch(() => {});
    return await Promise.race([connecting, lost.promise]);
  } finally {
    clearTimeout(late);
    lost.forget();
  }
}

/** The library knows why the other side closed, and gets this long to say so. */
const graceMs = 500;

/**
 * Rejects after the socket has closed. The library itself waits for ever if that happens before it listens, for
 * instance because the link is stopped in that moment.
 */
function watchClose(socket: WebSocket): { promise: Promise<never>; forget: () => void } {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  let timer: NodeJS.Timeout | undefined;
  const onClose = () => {
    const error = new Error("The link was closed during its handshake.");
    timer = setTimeout(() => reject(error), graceMs);
  };
  if (socket.readyState === WebSocket.CLOSED) onClose();
  else socket.once("close", onClose);
  return {
    promise,
    forget() {
      socket.off("close", onClose);
      clearTimeout(timer);
    },
  };
}

function watch(nats: NatsConnection, token: string, cut: () => void): Connection {
  let lastError: string | undefined;
  let expired = false;
  const follow = async () => {
    for await (const status of nats.status()) {
      if (status.type === "error") {
        lastError = status.error.message;
        expired ||= isExpiry(status.error);
      }
      // Pings get no answer, so a polite close would get none either.
      if (status.type === "staleConnection") {
        lastError ??= "The other side stopped answering.";
        cut();
      }
    }
  };
  void follow();
  const closed = nats.closed().then((error) => ({
    reason: lastError ?? (error instanceof Error ? error.message : "The connection was closed."),
    expired: expired || isExpiry(error),
  }));
  return { nats, token, closed, isClosed: () => nats.isClosed(), cut };
}

/** Closes once everything sent has reached the server; ends the connection if that takes too long. */
export async function close(connection: Connection, patienceMs: number): Promise<void> {
  if (!connection.isClosed()) {
    await within(
      patienceMs,
      connection.nats.drain().catch(() => {}),
    );
  }
  connection.cut();
  await connection.closed;
}
