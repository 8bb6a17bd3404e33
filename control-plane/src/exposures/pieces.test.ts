// Senders of very small pieces: what waits of them at a node is bounded, and what is read passes whole.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { connect } from "node:net";
import { PassThrough, Writable } from "node:stream";
import { after, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import { startExposureBed, type ExposureBed } from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { limitUnread, mostPieces, passOn } from "./pieces.ts";

let server: ExposedServer;
let bed: ExposureBed;

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle);
});

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Sends a body in chunks of one byte as soon as the host has the request. Waits until the connection is closed. */
async function send(path: string, chunks: number) {
  const sessionId = formatId("session", randomUUID());
  const { exposureId, host, authorization } = bed.make(undefined, {
    kind: "port",
    sessionId,
    port: 5173,
  });
  const socket = connect(bed.nodes[0]!.publicPort, "127.0.0.1");
  let text = "";
  let isClosed = false;
  socket.on("data", (bytes) => (text += bytes.toString()));
  socket.on("error", () => {});
  socket.on("close", () => (isClosed = true));
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: ${authorization}\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`,
  );
  await until("the host is asked", () => server.requests.at(-1)?.[":authority"] === host);
  socket.write(`${"1\r\nx\r\n".repeat(chunks)}0\r\n\r\n`);
  await until("the connection is closed", () => isClosed, 30_000);
  const taken = () => bed.uses.filter((use) => use.exposureId === exposureId);
  await until("the use is reported", () => taken().length > 0);
  return { text, bytes: taken().reduce((sum, { bytesIn }) => sum + bytesIn, 0) };
}

test("a body of many small chunks passes", async () => {
  const { text, bytes } = await send("/upload", mostPieces - 1);
  assert.match(text, /^HTTP\/1\.1 200 /);
  assert.equal(bytes, mostPieces - 1);
  assert.deepEqual(server.whole, ["/upload"]);
});

test("a body of small chunks that the host does not read is cut", async () => {
  const { text, bytes } = await send("/silent", 500_000);
  assert.equal(text, "");
  assert.ok(bytes < 2 * mostPieces, `${bytes} bytes were taken`);
});

test("pieces that are not read are counted, also if some are read meanwhile", () => {
  const stream = new PassThrough({ highWaterMark: 1_000_000 });
  let refused = 0;
  limitUnread(stream, () => (refused += 1));
  const push = (count: number) => {
    for (let at = 0; at < count; at++) stream.push("x");
  };
  push(mostPieces);
  assert.equal(refused, 0);
  stream.read(100);
  push(100);
  assert.equal(refused, 0);
  push(1);
  assert.equal(refused, 1);
  stream.read();
  push(mostPieces);
  assert.equal(refused, 1);
});

test("pieces are passed in their order, with their end, as fast as they are taken", async () => {
  const from = new PassThrough();
  const got: Buffer[] = [];
  const to = new Writable({
    highWaterMark: 10,
    write(piece: Buffer, _encoding, done) {
      got.push(piece);
      setImmediate(done);
    },
  });
  passOn(from, to, () => assert.fail("nothing waits"));
  const sent = Array.from({ length: 200 }, (_, at) => String(at).repeat(at % 9 === 0 ? 600 : 1));
  for (const piece of sent) from.write(piece);
  from.end();
  await once(to, "finish");
  assert.equal(Buffer.concat(got).toString(), sent.join(""));
});
