// Servers that answer early, break off or speak something else: what the clients of a preview learn.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { startPreviewBed, type PreviewBed } from "@hawser/testkit/preview-bed.ts";
import { until } from "@hawser/testkit/until.ts";

const codeOf = (answer: { json(): unknown }) =>
  (answer.json() as { error: { code: string } }).error.code;

test("a server that answers before it has read the body, and closes, is heard", async () => {
  await using bed = await startPreviewBed((_request, response) =>
    response.writeHead(413, { connection: "close" }).end("too large"),
  );
  const stream = bed.tunnel.session.request({ ":method": "POST", ":path": "/" });
  stream.on("error", () => {});
  let text = "";
  stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(stream, "end");
  stream.write("begin");
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  assert.equal(headers[":status"], 413);
  await ended;
  assert.equal(text, "too large");
  await until("the connection is closed", () => bed.connections() === 0);
  // The rest of the body is not waited for.
  await until("the stream is closed", () => stream.closed);
});

test("a server that closes its connections early is asked on a new one each time", async () => {
  await using bed = await startPreviewBed((_request, response) => response.end("fine"));
  bed.server.keepAliveTimeout = 1;
  for (let count = 0; count < 20; count++) {
    assert.equal((await bed.tunnel.ask("GET", "/")).text, "fine");
  }
  assert.equal(bed.seen.length, 20);
});

test("a server that breaks off is not taken for one that has finished", async () => {
  await using bed = await startPreviewBed((request, response) => {
    if (request.url === "/before") request.socket.destroy();
    else response.writeHead(200).write("half", () => request.socket.destroy());
  });
  const before = await bed.tunnel.ask("GET", "/before");
  assert.deepEqual([before.status, codeOf(before)], [502, "server_failed"]);
  const within = await bed.tunnel.ask("GET", "/within");
  assert.deepEqual([within.status, within.isWhole], [200, false]);
});

test("a server that speaks no HTTP, or changes the protocol unasked, is answered with 502", async () => {
  const texts = [
    "SSH-2.0-OpenSSH_9.2\r\n",
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
    "HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n",
  ];
  await using bed = await startPreviewBed(() => {});
  for (const text of texts) {
    bed.server.removeAllListeners("connection");
    bed.server.on("connection", (socket) => {
      socket.on("error", () => {});
      socket.once("data", () => socket.write(text));
    });
    const answer = await bed.tunnel.ask("GET", "/");
    assert.deepEqual([answer.status, codeOf(answer)], [502, "server_failed"], text);
  }
});

test("nothing but the checked address is connected", async () => {
  const elsewhere = createServer().listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  const { port } = elsewhere.address() as AddressInfo;
  let connections = 0;
  elsewhere.on("connection", () => connections++);
  await using bed = await startPreviewBed((_request, response) =>
    response.writeHead(302, { location: `http://127.0.0.1:${port}/` }).end(),
  );
  const headers = { host: `127.0.0.1:${port}`, ":authority": `127.0.0.1:${port}` };
  const answer = await bed.tunnel.ask("GET", "/", { headers });
  assert.deepEqual([answer.status, answer.headers["location"]], [302, `http://127.0.0.1:${port}/`]);
  assert.equal(connections, 0);
  elsewhere.close();
});

/** Answers every connection with these bytes, again and again if `repeats`, as fast as they are read. */
function answerRaw(bed: PreviewBed, head: string, bytes: string, repeats = false): void {
  bed.server.removeAllListeners("connection");
  bed.server.on("connection", (socket) => {
    socket.on("error", () => {});
    socket.once("data", () => {
      socket.write(head);
      socket.write(bytes);
      if (repeats) socket.on("drain", () => socket.write(bytes));
    });
  });
}

test("an answer in thousands of tiny pieces passes in a few, and is cut if too many wait", async () => {
  await using bed = await startPreviewBed(() => {});
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  answerRaw(bed, head, `${"1\r\nx\r\n".repeat(3_000)}0\r\n\r\n`);
  let messages = 0;
  bed.tunnel.socket.on("message", () => messages++);
  const joined = await bed.tunnel.ask("GET", "/");
  assert.deepEqual([joined.isWhole, joined.text], [true, "x".repeat(3_000)]);
  assert.ok(messages < 100, `${messages} messages`);

  answerRaw(bed, head, "1\r\nx\r\n".repeat(20_000), true);
  const cut = await bed.tunnel.ask("GET", "/");
  assert.equal(cut.isWhole, false);
  await until("the connection is closed", () => bed.connections() === 0);
});

test("a server that sends interim answers without end is answered with 502", async () => {
  for (const interim of [
    "HTTP/1.1 100 Continue\r\n\r\n",
    "HTTP/1.1 103 Early\r\nlink: </a>\r\n\r\n",
  ]) {
    await using bed = await startPreviewBed(() => {});
    answerRaw(bed, "", interim.repeat(5_000), true);
    const answer = await bed.tunnel.ask("GET", "/");
    assert.deepEqual([answer.status, codeOf(answer)], [502, "server_failed"]);
    await until("the connection is closed", () => bed.connections() === 0);
  }
});
