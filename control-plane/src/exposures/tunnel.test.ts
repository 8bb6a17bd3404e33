// One tunnel over a real WebSocket: when it is ready, and when it is given up.
import assert from "node:assert/strict";
import { once } from "node:events";
import { performServerHandshake, type ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { test, type TestContext } from "node:test";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket, WebSocketServer, createWebSocketStream } from "ws";
import { mostPieces } from "./pieces.ts";
import { startTunnel, type Tunnel, type TunnelOptions } from "./tunnel.ts";

/** A host's end, and the node's end of a WebSocket. */
async function openPair<Accepted>(t: TestContext, accept: (socket: WebSocket) => Accepted) {
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(server, "listening");
  // In the same turn: the first bytes of the host come with its handshake.
  const accepted = new Promise<Accepted>((resolve) =>
    server.once("connection", (socket) => resolve(accept(socket))),
  );
  const host = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  host.on("error", () => {});
  t.after(() => {
    host.terminate();
    for (const client of server.clients) client.terminate();
    server.close();
  });
  return { host, accepted };
}

function serveHost(host: WebSocket, onStream?: (session: ServerHttp2Session) => void) {
  const bytes = createWebSocketStream(host);
  bytes.on("error", () => {});
  const session = performServerHandshake(bytes, { settings: { enableConnectProtocol: true } });
  session.on("error", () => {});
  session.on("stream", (stream) => {
    stream.on("error", () => {});
    if (onStream) return onStream(session);
    stream.respond({ ":status": 200 });
    stream.end("hello");
  });
  return session;
}

async function startPair(t: TestContext, options: Partial<TunnelOptions> = {}) {
  const left = { at: undefined as number | undefined };
  const leaving = () => void (left.at = performance.now());
  const { host, accepted } = await openPair(t, (socket) =>
    startTunnel(socket, { leaving, ...options }),
  );
  const session = serveHost(host);
  const tunnel = await accepted;
  return { tunnel, host, session, left };
}

const request = { ":method": "GET", ":path": "/", ":scheme": "http", ":authority": "a" };

async function get(tunnel: Tunnel): Promise<number> {
  const stream = tunnel.open(request, { endStream: true });
  stream.resume();
  const closed = new Promise((resolve) => stream.once("close", resolve));
  const [headers] = (await once(stream, "response")) as [{ ":status": number }];
  await closed;
  return headers[":status"];
}

test("a tunnel whose host stops answering is given up, and its streams fail", async (t) => {
  const { tunnel, host, left } = await startPair(t, { pingMs: 300 });
  assert.equal(await get(tunnel), 200);
  const frozenAt = performance.now();
  // The host reads no more, as if the network were gone: no end is reported.
  host.pause();
  const stream = tunnel.open(request, { endStream: true });
  await new Promise((resolve) => stream.once("close", resolve));
  assert.ok(performance.now() - frozenAt < 1_000);
  await until("the tunnel is left", () => left.at !== undefined, 1_000);
  assert.throws(() => tunnel.open(request, { endStream: true }));
});

test("a tunnel closes when it has had no stream for a while, and not before", async (t) => {
  const { tunnel, host, left } = await startPair(t, { idleMs: 300 });
  const openedAt = performance.now();
  for (let i = 0; i < 5; i++) {
    await new Promise((resolve) => setTimeout(resolve, 100));
    assert.equal(await get(tunnel), 200);
  }
  const lastAt = performance.now();
  await once(host, "close");
  assert.ok(lastAt - openedAt > 450);
  assert.ok(left.at! - lastAt > 250, `${left.at! - lastAt} ms`);
});

test("a host that closes a tunnel is left at once", async (t) => {
  const { tunnel, session, left } = await startPair(t);
  assert.equal(await get(tunnel), 200);
  session.close();
  await until("the tunnel is left", () => left.at !== undefined, 1_000);
});

test("single bytes that are not read end their stream, and no other", async (t) => {
  const { host, accepted } = await openPair(t, (socket) =>
    startTunnel(socket, { leaving: () => {} }),
  );
  let sent = 0;
  serveHost(host, () => {}).on("stream", (stream) => {
    stream.respond({ ":status": 200 });
    // Bytes that are written together would be one piece.
    const drip = () => {
      if (stream.destroyed || sent === 20_000) return;
      sent += 1;
      stream.write("x");
      setImmediate(drip);
    };
    if (stream.id === 1) drip();
    else stream.end("hello");
  });
  const tunnel = await accepted;
  const stream = tunnel.open(request, { endStream: true });
  await until("the stream is closed", () => stream.closed);
  assert.ok(sent > mostPieces, `${sent} bytes`);
  assert.equal(await get(tunnel), 200);
});

test("a retired tunnel lets its streams end", async (t) => {
  const { host, accepted } = await openPair(t, (socket) =>
    startTunnel(socket, { leaving: () => {} }),
  );
  let finish = () => {};
  const session = serveHost(host, () => {});
  session.on("stream", (stream) => {
    stream.respond({ ":status": 200 });
    finish = () => stream.end("late");
  });
  const tunnel = await accepted;
  const stream = tunnel.open(request, { endStream: true });
  await once(stream, "response");
  tunnel.retire();
  assert.throws(() => tunnel.open(request, { endStream: true }));
  finish();
  let text = "";
  for await (const chunk of stream) text += String(chunk);
  assert.equal(text, "late");
  await once(host, "close");
});

test("a host that does not speak HTTP/2 gets no tunnel", async (t) => {
  const { host, accepted } = await openPair(t, (socket) =>
    startTunnel(socket, { leaving: () => {}, readyMs: 200 }),
  );
  await assert.rejects(accepted, /closed the tunnel before it was ready/);
  await until("the host sees it", () => host.readyState === host.CLOSED, 1_000);
});
