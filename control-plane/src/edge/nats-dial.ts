// The edge's side towards NATS: opens a WebSocket on one of its servers for an accepted host, and
// returns it once the server has answered the upgrade. A server that is down or silent is skipped.
import { connect, type Socket } from "node:net";

/** A connection that NATS has upgraded. Nothing reads it yet. */
export interface Upstream {
  socket: Socket;
  /** NATS's answer to the handshake, with the empty line that ends it. */
  head: string;
  /** The bytes that followed the answer. */
  rest: Buffer;
}

export interface Handshake {
  key: string;
  protocol: string | undefined;
}

export type Dial = (handshake: Handshake) => Promise<Upstream | undefined>;

const deadlineMs = 3_000;
const shortestTryMs = 500;
const largestHead = 8 * 1024;
const keepAliveMs = 30_000;

/** Uses the addresses ("host:port") in turn. Resolves to undefined if none answers in time. */
export function createDialer(addresses: readonly string[]): Dial {
  const servers = addresses.map(readAddress);
  const tryMs = Math.max(shortestTryMs, deadlineMs / Math.max(1, servers.length));
  let turn = 0;
  return async (handshake) => {
    const first = turn++;
    const deadline = performance.now() + deadlineMs;
    for (let i = 0; i < servers.length; i++) {
      const left = deadline - performance.now();
      if (left <= 0) return undefined;
      const server = servers[(first + i) % servers.length]!;
      const upstream = await open(server, handshake, Math.min(tryMs, left));
      if (upstream) return upstream;
    }
    return undefined;
  };
}

interface Address {
  host: string;
  port: number;
}

function readAddress(text: string): Address {
  const at = text.lastIndexOf(":");
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ""), port: Number(text.slice(at + 1)) };
}

/**
 * Writes a new request from the two checked values. No header of the host is passed on, in particular
 * no offer to compress, which would cost NATS memory for every host.
 */
function requestText({ host, port }: Address, { key, protocol }: Handshake): string {
  return [
    "GET / HTTP/1.1",
    `Host: ${host.includes(":") ? `[${host}]` : host}:${port}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    `Sec-WebSocket-Key: ${key}`,
    "Sec-WebSocket-Version: 13",
    ...(protocol === undefined ? [] : [`Sec-WebSocket-Protocol: ${protocol}`]),
    "\r\n",
  ].join("\r\n");
}

function open(
  server: Address,
  handshake: Handshake,
  patienceMs: number,
): Promise<Upstream | undefined> {
  return new Promise((resolve) => {
    const socket = connect({
      ...server,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: keepAliveMs,
      // The end of a link is decided in one place, for both sides.
      allowHalfOpen: true,
    });
    let seen = Buffer.alloc(0);
    const fail = () => {
      settle();
      socket.destroy();
      resolve(undefined);
    };
    const read = (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      const end = seen.indexOf("\r\n\r\n");
      if (end < 0 && seen.length <= largestHead) return;
      const head = seen.toString("latin1", 0, end + 4);
      if (end < 0 || !head.startsWith("HTTP/1.1 101 ")) return fail();
      settle();
      socket.pause();
      resolve({ socket, head, rest: seen.subarray(end + 4) });
    };
    const timer = setTimeout(fail, patienceMs);
    const settle = () => {
      clearTimeout(timer);
      socket.off("data", read).off("error", fail).off("end", fail);
      // The socket may fail again after it was given up, or before it is taken over.
      socket.on("error", () => {});
    };
    socket.on("data", read).on("error", fail).on("end", fail);
    socket.write(requestText(server, handshake));
  });
}
