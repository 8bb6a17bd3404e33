// What happens to the bytes and the two sockets after a host is accepted. A plain listener replaces
// NATS, because it must be slow, silent or misbehaving on demand.
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { after, afterEach, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { fabricPath, makeNkey, makeProof, proofHeader } from "@hawser/host-protocol";
import { makeFabricKeys } from "../fabric/fabric-keys.ts";
import { createHostTokens } from "../fabric/host-token.ts";
import { createLog } from "../log.ts";
import { startEdgeRole, type EdgeRole } from "./edge-role.ts";

const instanceId = "ins_00000000000000000000000001";
const tokens = createHostTokens(makeFabricKeys().keys, 3600);
const key = makeNkey("user");

const accepted = [
  "HTTP/1.1 101 Switching Protocols",
  "Upgrade: websocket",
  "Connection: Upgrade",
  "Sec-WebSocket-Accept: x",
  "\r\n",
].join("\r\n");

let upstream: Server;
let edge: EdgeRole;
/** What the listener does with each connection, once it has read the request. */
let serve: (socket: Socket, request: string) => void;
const sockets = new Set<Socket>();
let leaving = () => Promise.resolve();

const start = (websockets: string[], drainMs = 0) =>
  startEdgeRole({
    listen: { host: "127.0.0.1", port: 0 },
    drainMs,
    tokens,
    websockets,
    edgeId: "e1",
    linksPerSecond: 1_000,
    log: createLog("silent"),
    admitted() {
      throw new Error("Nobody listens to the edge's notices.");
    },
    leaving: () => leaving(),
  });

before(async () => {
  upstream = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.once("data", (request: Buffer) => serve(socket, request.toString()));
  }).listen(0, "127.0.0.1");
  await once(upstream, "listening");
  edge = await start([addressOf(upstream)]);
});

afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  await until(() => edge.connections() === 0);
});

after(async () => {
  await edge.stop();
  upstream.close();
});

const addressOf = (server: Server) => `127.0.0.1:${(server.address() as AddressInfo).port}`;

async function until(look: () => boolean, patienceMs = 10_000): Promise<void> {
  const deadline = Date.now() + patienceMs;
  while (!look()) {
    assert.ok(Date.now() < deadline, `it did not happen within ${patienceMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** A host that reads nothing by itself. */
function dial(at: EdgeRole = edge): Socket {
  const host = `127.0.0.1:${at.address.port}`;
  const { token } = tokens.mint(instanceId, key.publicKey);
  const socket = connect({ port: at.address.port, host: "127.0.0.1", allowHalfOpen: true });
  sockets.add(socket);
  socket.on("error", () => {});
  socket.write(
    [
      `GET ${fabricPath} HTTP/1.1`,
      `Host: ${host}`,
      "Connection: keep-alive, Upgrade",
      "Upgrade: WebSocket",
      `Sec-WebSocket-Key: ${Buffer.alloc(16, 7).toString("base64")}`,
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits",
      "X-Forwarded-For: 10.0.0.1",
      "Cookie: a=b",
      `Authorization: Bearer ${token}`,
      `${proofHeader}: ${makeProof(key, host, Date.now())}`,
      "\r\n",
    ].join("\r\n"),
  );
  return socket;
}

/** Collects everything that a socket receives. */
function listen(socket: Socket): { text: () => string; ended: () => boolean } {
  let text = "";
  socket.on("data", (chunk: Buffer) => (text += chunk.toString("latin1")));
  return { text: () => text, ended: () => socket.readableEnded };
}

test("NATS gets a request of the edge's own, and the host NATS's answer with the date", async () => {
  let request = "";
  serve = (socket, text) => {
    request = text;
    socket.write(`${accepted}INFO`);
  };
  const host = listen(dial());
  await until(() => host.text().endsWith("INFO"));
  assert.deepEqual(request.split("\r\n"), [
    "GET / HTTP/1.1",
    `Host: ${addressOf(upstream)}`,
    "Upgrade: websocket",
    "Connection: Upgrade",
    "Sec-WebSocket-Key: BwcHBwcHBwcHBwcHBwcHBw==",
    "Sec-WebSocket-Version: 13",
    "",
    "",
  ]);
  assert.match(host.text(), /^HTTP\/1\.1 101 Switching Protocols\r\nDate: .* GMT\r\nUpgrade: /);
});

const mebi = 1024 * 1024;
setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

/** The memory of this process: the edge, and both its ends. */
function memory(): { resident: number; buffers: number } {
  collectGarbage();
  const { rss, arrayBuffers } = process.memoryUsage();
  return { resident: rss, buffers: arrayBuffers };
}

test("a host that stops reading holds NATS back, and costs the edge no memory", async () => {
  const total = 200 * mebi;
  const chunk = Buffer.alloc(64 * 1024, 1);
  let pushed = 0;
  serve = (socket) => {
    socket.write(accepted);
    const push = () => {
      while (pushed < total && !socket.writableNeedDrain) {
        socket.write(chunk);
        pushed += chunk.length;
      }
      if (pushed < total) socket.once("drain", push);
      else socket.end();
    };
    push();
  };
  const before = memory();
  const host = dial();
  let mark = -1;
  let since = Date.now();
  await until(() => {
    if (pushed !== mark) [mark, since] = [pushed, Date.now()];
    return pushed > 0 && Date.now() - since > 1_000;
  });
  assert.ok(pushed < total / 4, `NATS was held back after ${pushed} bytes`);
  const after = memory();
  assert.ok(after.resident - before.resident < 16 * mebi, `${after.resident - before.resident}`);
  assert.ok(after.buffers - before.buffers < 16 * mebi, `${after.buffers - before.buffers}`);

  // All of it arrives once the host reads again.
  let read = 0;
  host.on("data", (data: Buffer) => (read += data.length));
  await until(() => host.readableEnded, 60_000);
  assert.equal(pushed, total);
  const head = accepted.length + `Date: ${new Date().toUTCString()}\r\n`.length;
  assert.equal(read, total + head);
  host.end();
});

/** A frame of 900 MB with a mask of zeros, and the line of the message in it. The payload is to follow. */
function startOfHugeMessage(): Buffer {
  const header = Buffer.alloc(14);
  header.set([0x82, 0xff]);
  header.writeBigUInt64BE(900_000_000n, 2);
  return Buffer.concat([header, Buffer.from("PUB a 800000000\r\n")]);
}

test("a host that does not send the NATS protocol loses its link, and NATS receives none of it", async () => {
  let received = 0;
  serve = (socket) => {
    socket.write(accepted);
    socket.on("data", (chunk: Buffer) => (received += chunk.length));
  };
  const socket = dial();
  const host = listen(socket);
  await until(() => edge.connections() === 1);
  socket.write("plain text");
  await until(() => host.ended() || socket.destroyed);
  await until(() => edge.connections() === 0);
  assert.equal(received, 0);
});

test("NATS that stops reading holds the host back", async () => {
  serve = (socket) => {
    socket.pause();
    socket.write(accepted);
  };
  const host = dial();
  listen(host);
  await until(() => edge.connections() === 1);
  host.write(startOfHugeMessage());
  const chunk = Buffer.alloc(64 * 1024, 1);
  let pushed = 0;
  let mark = -1;
  let since = Date.now();
  await until(() => {
    while (pushed < 200 * mebi && host.write(chunk)) pushed += chunk.length;
    if (pushed !== mark) [mark, since] = [pushed, Date.now()];
    return Date.now() - since > 500;
  });
  assert.ok(pushed < 50 * mebi, `the host was held back after ${pushed} bytes`);
});

test("a host that dies is gone from NATS at once", async () => {
  let server: Socket | undefined;
  serve = (socket) => {
    server = socket;
    socket.write(accepted);
    socket.resume();
  };
  for (const die of [
    (host: Socket) => host.resetAndDestroy(),
    (host: Socket) => host.destroy(),
    (host: Socket) => host.end(),
  ]) {
    const host = dial();
    listen(host);
    await until(() => edge.connections() === 1);
    const started = performance.now();
    die(host);
    await until(() => server!.readableEnded || server!.destroyed);
    assert.ok(performance.now() - started < 500);
    server!.end();
    await until(() => edge.connections() === 0);
  }
});

test("the last words of NATS reach the host, and then the end", async () => {
  serve = (socket) => {
    socket.write(accepted);
    socket.end("-ERR 'User Authentication Revoked'");
  };
  const socket = dial();
  const host = listen(socket);
  await until(() => host.ended());
  assert.match(host.text(), /-ERR 'User Authentication Revoked'$/);
  socket.end();
  await until(() => edge.connections() === 0);
});

test("a side that does not go when the other has gone is cut off", async () => {
  serve = (socket) => void socket.write(accepted);
  const host = dial();
  listen(host);
  await until(() => edge.connections() === 1);
  host.end(); // and NATS keeps its side open for ever
  await until(() => edge.connections() === 0, 8_000);
  await until(() => host.closed);
});

test("a server that takes the connection and says nothing, or no, is passed over", async () => {
  const rude = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.end("HTTP/1.1 400 Bad Request\r\n\r\n");
  }).listen(0, "127.0.0.1");
  const silent = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
  }).listen(0, "127.0.0.1");
  await Promise.all([once(rude, "listening"), once(silent, "listening")]);
  serve = (socket) => void socket.write(accepted);
  const some = await start([addressOf(silent), addressOf(rude), addressOf(upstream)]);
  const host = listen(dial(some));
  await until(() => host.text().startsWith("HTTP/1.1 101 "));
  for (const socket of sockets) socket.destroy();
  await some.stop();

  const none = await start([addressOf(silent)]);
  const started = performance.now();
  const alone = listen(dial(none));
  await until(() => alone.ended());
  assert.match(alone.text(), /^HTTP\/1\.1 503 /);
  assert.ok(performance.now() - started < 4_000);
  await none.stop();
  for (const socket of sockets) socket.destroy();
  rude.close();
  silent.close();
});

test("an edge that stops ends every link, also those on their way, and lets nobody in", async () => {
  serve = (socket) => {
    socket.write(accepted);
    socket.on("end", () => socket.end()).resume();
  };
  const stopping = await start([addressOf(upstream)]);
  const socket = dial(stopping);
  const host = listen(socket);
  socket.on("end", () => socket.end());
  await until(() => stopping.connections() === 1);
  serve = () => {}; // NATS stops answering, so the next one stays on its way
  const late = dial(stopping);
  listen(late);
  await until(() => sockets.size === 4);
  const started = performance.now();
  await stopping.stop();
  assert.ok(performance.now() - started < 1_000);
  assert.equal(stopping.connections(), 0);
  await until(() => host.ended() && late.readableEnded);
});

test("an edge that stops says so before it ends a link, and one that cannot say so still ends", async (t) => {
  t.after(() => (leaving = () => Promise.resolve()));
  serve = (socket) => {
    socket.write(accepted);
    socket.on("end", () => socket.end()).resume();
  };
  const stopping = await start([addressOf(upstream)]);
  const socket = dial(stopping);
  const host = listen(socket);
  socket.on("end", () => socket.end());
  await until(() => stopping.connections() === 1);
  let endedBefore: boolean | undefined;
  leaving = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    endedBefore = host.ended() || stopping.connections() === 0;
    throw new Error("NATS is gone.");
  };
  await stopping.stop();
  assert.equal(endedBefore, false);
  await until(() => host.ended());
});

test("a stopping edge goes on while it answers 503, and then closes its port", async () => {
  serve = (socket) => {
    socket.write(accepted);
    socket.on("end", () => socket.end()).resume();
  };
  const stopping = await start([addressOf(upstream)], 1_000);
  const url = `http://127.0.0.1:${stopping.address.port}/readyz`;
  assert.equal((await fetch(url)).status, 200);
  const stopped = stopping.stop();
  const socket = dial(stopping);
  listen(socket);
  socket.on("end", () => socket.end());
  await until(() => stopping.connections() === 1);
  const reply = await fetch(url);
  assert.deepEqual([reply.status, await reply.text()], [503, "draining\n"]);
  await stopped;
  await assert.rejects(fetch(url));
});
