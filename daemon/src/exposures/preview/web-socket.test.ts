// WebSockets through a preview: both ends agree on what they speak, read as fast as they can, and end together.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { constants, type ClientHttp2Stream } from "node:http2";
import type { Duplex } from "node:stream";
import { test } from "node:test";
import { startPreviewBed, type PreviewBed } from "@hawser/testkit/preview-bed.ts";
import { until } from "@hawser/testkit/until.ts";
import { WebSocketServer } from "ws";

const connect = {
  ":method": "CONNECT",
  ":protocol": "websocket",
  ":scheme": "https",
  ":authority": "exp-1.exposures.example",
  ":path": "/socket?token=1",
};

/** Opens a WebSocket, and returns its stream and the headers of the answer. */
async function open(bed: PreviewBed, headers: Record<string, string> = {}) {
  // Extended CONNECT needs the host's settings.
  await until(
    "the settings are there",
    () => bed.tunnel.session.remoteSettings.enableConnectProtocol === true,
  );
  const stream = bed.tunnel.session.request({ ...connect, ...headers }, { endStream: false });
  stream.on("error", () => {});
  const [answer] = (await once(stream, "response")) as [Record<string, unknown>];
  return { stream, answer };
}

/** Accepts WebSockets, and gives the raw connection to the test. */
function accept(bed: PreviewBed, use: (socket: Duplex, request: IncomingMessage) => void): void {
  bed.server.on("upgrade", (request, socket) => {
    const key = `${request.headers["sec-websocket-key"]}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accepted = createHash("sha1").update(key).digest("base64");
    socket.on("error", () => {});
    // HTTP servers leave their half of a connection open.
    socket.on("end", () => socket.end());
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accepted}\r\n\r\n`,
    );
    use(socket, request);
  });
}

function collect(stream: ClientHttp2Stream): () => Buffer {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks);
}

const none = () => {};

test("a WebSocket is opened as a server on localhost expects it, and both ends agree", async () => {
  await using bed = await startPreviewBed(none);
  const sockets = new WebSocketServer({ server: bed.server, perMessageDeflate: true });
  const requests: IncomingMessage[] = [];
  sockets.on("connection", (socket, request) => {
    requests.push(request);
    socket.on("message", (data: Buffer) => socket.send(data.toString(), { compress: false }));
  });
  const { stream, answer } = await open(bed, {
    authorization: "Basic ours",
    origin: "https://exp-1.exposures.example",
    "sec-websocket-version": "13",
    "sec-websocket-protocol": "vite-hmr, other",
    "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
  });
  assert.equal(answer[":status"], 200);
  assert.equal(answer["sec-websocket-protocol"], "vite-hmr");
  assert.match(String(answer["sec-websocket-extensions"]), /^permessage-deflate/);
  const bytes = collect(stream);
  // "hi" with a mask of zeros.
  stream.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69]));
  await until("the echo arrives", () => bytes().equals(Buffer.from([0x81, 2, 0x68, 0x69])));
  const { url, headers } = requests[0]!;
  assert.equal(url, "/socket?token=1");
  const { "sec-websocket-key": key, ...others } = headers;
  assert.equal(Buffer.from(key!, "base64").length, 16);
  assert.deepEqual(others, {
    connection: "Upgrade",
    host: `localhost:${bed.port}`,
    origin: `http://localhost:${bed.port}`,
    "sec-websocket-extensions": "permessage-deflate; client_max_window_bits",
    "sec-websocket-protocol": "vite-hmr, other",
    "sec-websocket-version": "13",
    upgrade: "websocket",
  });
  // The server says goodbye, and closes.
  const [client] = sockets.clients;
  client!.close(1000, "bye");
  await until("the farewell arrives", () => bytes().includes("bye"));
  const farewell = Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]);
  stream.end(farewell);
  await once(stream, "close");
  await until("the connection is closed", () => bed.connections() === 0);
  sockets.close();
});

test("bytes that the server sends with its answer are not lost", async () => {
  await using bed = await startPreviewBed(none);
  accept(bed, (socket) => socket.end("early bytes"));
  const { stream } = await open(bed);
  const bytes = collect(stream);
  await once(stream, "end");
  assert.equal(bytes().toString(), "early bytes");
});

test("many bytes pass both ways unchanged", async () => {
  await using bed = await startPreviewBed(none);
  accept(bed, (socket) => socket.pipe(socket));
  const { stream } = await open(bed);
  const bytes = collect(stream);
  const sent = randomBytes(8 * 2 ** 20);
  stream.end(sent);
  await once(stream, "close");
  assert.ok(bytes().equals(sent));
  await until("the connection is closed", () => bed.connections() === 0);
});

/** Writes without end, as fast as the other end reads. Returns how many bytes were accepted so far. */
function flood(stream: Duplex): () => number {
  let sent = 0;
  const chunk = Buffer.alloc(64 * 1024);
  const push = () => {
    do sent += chunk.length;
    while (!stream.destroyed && stream.write(chunk));
  };
  stream.on("drain", push);
  push();
  return () => sent;
}

async function untilStill(count: () => number): Promise<void> {
  let before = -1;
  await until("the sender waits", async () => {
    const isStill = before === count();
    before = count();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return isStill;
  });
}

test("a client that does not read stops the server", async () => {
  await using bed = await startPreviewBed(none);
  let sent = () => 0;
  accept(bed, (socket) => (sent = flood(socket)));
  const { stream } = await open(bed);
  stream.pause();
  await untilStill(() => sent());
  const paused = sent();
  assert.ok(paused < 16 * 2 ** 20, `${paused} bytes`);
  stream.resume();
  await until("the server goes on", () => sent() > paused + 2 ** 20);
  stream.close(constants.NGHTTP2_CANCEL);
  await until("the connection is closed", () => bed.connections() === 0);
});

test("a server that does not read stops the client", async () => {
  await using bed = await startPreviewBed(none);
  let server: Duplex | undefined;
  accept(bed, (socket) => (server = socket.pause()));
  const { stream } = await open(bed);
  const sent = flood(stream);
  await untilStill(sent);
  assert.ok(sent() < 16 * 2 ** 20, `${sent()} bytes`);
  const paused = sent();
  server!.resume();
  await until("the client goes on", () => sent() > paused + 2 ** 20);
  server!.destroy();
  await until("the client's stream is closed", () => stream.closed);
});

test("a WebSocket ends at one end as it ended at the other", async () => {
  await using bed = await startPreviewBed(none);
  const ends: string[] = [];
  let server: Duplex | undefined;
  accept(bed, (socket) => {
    server = socket;
    socket.resume();
    socket.on("end", () => ends.push("end"));
    socket.on("close", () => ends.push("close"));
  });
  const leaving: ((stream: ClientHttp2Stream) => void)[] = [
    (stream) => void stream.end("last words"),
    (stream) => stream.close(constants.NGHTTP2_CANCEL),
    () => server!.end("last words"),
    () => void server!.destroy(),
  ];
  for (const [at, leave] of leaving.entries()) {
    const { stream } = await open(bed);
    const bytes = collect(stream);
    leave(stream);
    await until(`both are closed after ${at}`, () => stream.closed && bed.connections() === 0);
    if (at === 2) assert.equal(bytes().toString(), "last words");
  }
  assert.equal(ends.filter((end) => end === "close").length, leaving.length);
});

test("a closed tunnel ends its WebSockets", async () => {
  await using bed = await startPreviewBed(none);
  accept(bed, (socket) => void socket.resume());
  const { stream } = await open(bed);
  bed.opened.close("expired");
  await until("both are closed", () => stream.closed && bed.connections() === 0);
});

test("a server that refuses a WebSocket is heard, and one that is none is not believed", async () => {
  await using bed = await startPreviewBed((_request, response) =>
    response.writeHead(426, { "x-why": "old" }).end("no socket here"),
  );
  const refused = await open(bed);
  assert.deepEqual([refused.answer[":status"], refused.answer["x-why"]], [426, "old"]);
  const text = collect(refused.stream);
  await once(refused.stream, "end");
  assert.equal(text().toString(), "no socket here");

  bed.server.on("upgrade", (_request, socket) => {
    socket.on("error", () => {});
    socket.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n");
  });
  const wrong = await open(bed);
  assert.equal(wrong.answer[":status"], 502);
  assert.match(await textOf(wrong.stream), /server_failed/);

  bed.checks.push(true, false);
  const foreign = await open(bed);
  assert.equal(foreign.answer[":status"], 502);
  assert.match(await textOf(foreign.stream), /port_closed/);
});

test("a server that answers with a page has opened no WebSocket", async () => {
  await using bed = await startPreviewBed((_request, response) => response.end("<h1>Hello</h1>"));
  const { stream, answer } = await open(bed);
  assert.equal(answer[":status"], 502);
  assert.match(await textOf(stream), /server_failed/);
  await until("the connection is closed", () => bed.connections() === 0);
});

async function textOf(stream: ClientHttp2Stream): Promise<string> {
  const text = collect(stream);
  await once(stream, "end");
  return text().toString();
}
