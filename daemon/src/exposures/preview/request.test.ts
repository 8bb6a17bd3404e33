// HTTP through a preview: bodies and answers are streamed, and each end learns that the other has left.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { constants, type ClientHttp2Stream } from "node:http2";
import type { RequestListener } from "node:http";
import { createServer } from "node:net";
import { Readable } from "node:stream";
import { test } from "node:test";
import { startPreviewBed } from "@hawser/testkit/preview-bed.ts";
import type { Asking } from "@hawser/testkit/tunnel-edge.ts";
import { until } from "@hawser/testkit/until.ts";

const codeOf = (answer: { json(): unknown }) =>
  (answer.json() as { error: { code: string } }).error.code;

/** Collects a stream's bytes from now on. */
function collect(stream: ClientHttp2Stream): () => string {
  const chunks: Buffer[] = [];
  stream.on("data", (chunk: Buffer) => chunks.push(chunk));
  return () => Buffer.concat(chunks).toString();
}

/** Answers with what the server has received. */
const mirror: RequestListener = (request, response) => {
  const hash = createHash("sha256");
  let size = 0;
  request.on("error", () => {});
  request.on("data", (chunk: Buffer) => {
    size += chunk.length;
    hash.update(chunk);
  });
  request.on("end", () => {
    const { method, url, headers } = request;
    response.end(JSON.stringify({ method, url, headers, size, hash: hash.digest("hex") }));
  });
};

test("N18: the server believes that it is used at localhost, and gets no login", async () => {
  await using bed = await startPreviewBed(mirror);
  const answer = await bed.tunnel.ask("GET", "/a%20b/../c?d=e&f=%2F", {
    headers: {
      accept: "text/html",
      "accept-encoding": "gzip, br",
      authorization: "Basic ours",
      origin: "https://exp-1.exposures.example",
      "x-forwarded-for": "1.2.3.4",
      "x-own": "1",
    },
  });
  assert.equal(answer.status, 200);
  const { method, url, headers } = answer.json() as Record<string, unknown>;
  assert.deepEqual([method, url], ["GET", "/a%20b/../c?d=e&f=%2F"]);
  assert.deepEqual(headers, {
    accept: "text/html",
    "accept-encoding": "gzip, br",
    connection: "close",
    host: `localhost:${bed.port}`,
    origin: `http://localhost:${bed.port}`,
    "x-own": "1",
  });
});

test("three hundred headers pass", async () => {
  await using bed = await startPreviewBed(mirror);
  const own = Array.from({ length: 300 }, (_, i) => [`x-${i}`, "1"]);
  const headers = Object.fromEntries(own) as Record<string, string>;
  const answer = await bed.tunnel.ask("GET", "/", { headers });
  const seen = answer.json() as { headers: Record<string, string> };
  for (const name of Object.keys(headers)) assert.equal(seen.headers[name], "1");
});

test("every method passes, with and without a body", async () => {
  await using bed = await startPreviewBed(mirror);
  for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"]) {
    for (const body of [undefined, "some text", ""]) {
      const answer = await bed.tunnel.ask(method, "/", body === undefined ? {} : { body });
      const seen = answer.json() as { method: string; size: number };
      assert.deepEqual([seen.method, seen.size], [method, body?.length ?? 0], `${method} ${body}`);
    }
  }
  const whole = await bed.tunnel.ask("OPTIONS", "*");
  assert.equal((whole.json() as { url: string }).url, "*");
  // One request of the tunnel is one request of the server.
  assert.equal(bed.seen.length, 22);
});

test("T26: what is no request of HTTP/1.1 is refused before the server is connected", async () => {
  await using bed = await startPreviewBed(mirror);
  for (const path of ["http://127.0.0.1:1/", "x", "*", "/a b", "/\u00fc"]) {
    const answer = await bed.tunnel.ask("GET", path);
    // HTTP/2 itself refuses some of them.
    if (answer.status !== 0)
      assert.deepEqual([answer.status, codeOf(answer)], [400, "invalid_request"]);
  }
  const tunnel = bed.tunnel.open({ ":method": "CONNECT", ":authority": "127.0.0.1:1" });
  const [connect] = (await once(tunnel, "response")) as [{ ":status": number }];
  assert.equal(connect[":status"], 400);
  assert.equal(bed.seen.length, 0);
  assert.equal(bed.connections(), 0);
});

test("N17: a port that changes hands while it is connected gets no byte", async () => {
  await using bed = await startPreviewBed(mirror);
  bed.checks.push(false);
  const before = await bed.tunnel.ask("POST", "/", { body: "secret" });
  assert.deepEqual([before.status, codeOf(before)], [502, "port_closed"]);
  bed.checks.push(true, false);
  const between = await bed.tunnel.ask("POST", "/", { body: "secret" });
  assert.deepEqual([between.status, codeOf(between)], [502, "port_closed"]);
  await until("the connection is closed", () => bed.connections() === 0);
  assert.deepEqual([bed.seen.length, bed.received()], [0, 0]);
  assert.equal((await bed.tunnel.ask("POST", "/", { body: "secret" })).status, 200);
});

test("N17: after a connection to a port that changed hands, no other address is tried", async () => {
  await using bed = await startPreviewBed(mirror);
  const own = createServer().listen(bed.port, "::1");
  await once(own, "listening");
  const both = ["::1", "127.0.0.1"];
  bed.checks.push(both, [], both);
  const answer = await bed.tunnel.ask("POST", "/", { body: "secret" });
  assert.deepEqual([answer.status, codeOf(answer)], [502, "port_closed"]);
  assert.deepEqual([bed.seen.length, bed.received()], [0, 0]);
  own.close();
  await once(own, "close");
  // Nothing listens at the first address.
  bed.checks.push(both, both);
  assert.equal((await bed.tunnel.ask("POST", "/", { body: "secret" })).status, 200);
});

test("a person who opens a page whose server has ended reads a sentence", async () => {
  await using bed = await startPreviewBed(mirror);
  bed.checks.push(false);
  const answer = await bed.tunnel.ask("GET", "/", { headers: { accept: "text/html,*/*" } });
  assert.equal(answer.status, 502);
  assert.match(answer.text, /^No process of this session listens on port \d+ of the host/);
});

test("a large body is streamed, with and without a length", async () => {
  await using bed = await startPreviewBed(mirror);
  const body = randomBytes(20 * 2 ** 20);
  const hash = createHash("sha256").update(body).digest("hex");
  for (const length of [{ "content-length": String(body.length) }, {}]) {
    const stream = bed.tunnel.session.request({ ":method": "POST", ":path": "/", ...length });
    const text = collect(stream);
    stream.end(body);
    await once(stream, "close");
    const seen = JSON.parse(text()) as { size: number; hash: string };
    assert.deepEqual([seen.size, seen.hash], [body.length, hash]);
  }
});

test("a body that the server does not read waits, and delays no other request", async () => {
  let go: () => void = () => {};
  await using bed = await startPreviewBed((request, response) => {
    if (request.url !== "/slow") response.end("fine");
    else go = () => request.resume().on("end", () => response.end("read"));
  });
  let sent = 0;
  const source = Readable.from(
    (function* chunks() {
      for (; sent < 32 * 2 ** 20; sent += 64 * 1024) yield Buffer.alloc(64 * 1024);
    })(),
  );
  const stream = bed.tunnel.session.request({ ":method": "POST", ":path": "/slow" });
  const text = collect(stream);
  source.pipe(stream);
  let before = -1;
  await until("the sender waits", async () => {
    const isStill = before === sent;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return isStill;
  });
  assert.ok(sent < 16 * 2 ** 20, `${sent} bytes were sent`);
  assert.equal((await bed.tunnel.ask("GET", "/other")).text, "fine");
  go();
  await once(stream, "close");
  assert.equal(text(), "read");
});

test("an upload that its client breaks off never looks complete", async () => {
  const ends: string[] = [];
  await using bed = await startPreviewBed((request) => {
    request.on("end", () => ends.push(`${request.url} complete: ${request.complete}`));
    request.on("error", () => ends.push(`${request.url} error`));
    request.resume();
  });
  const breaks: ((stream: ClientHttp2Stream) => void)[] = [
    (stream) => void stream.destroy(new Error("The client has left.")),
    (stream) => void stream.destroy(),
  ];
  for (const [at, leave] of breaks.entries()) {
    const stream = bed.tunnel.session.request({ ":method": "POST", ":path": `/${at}` });
    stream.on("error", () => {});
    stream.write("half");
    await until("the server reads", () => bed.seen.length === at + 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    leave(stream);
    await until("the server notices", () => ends.length === at + 1);
  }
  assert.deepEqual(ends, ["/0 error", "/1 error"]);
});

test("a stream of events passes as it is written, and ends with its client", async () => {
  let send: (text: string) => void = () => {};
  let isClosed = false;
  await using bed = await startPreviewBed((_request, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    send = (text) => response.write(`data: ${text}\n\n`);
    response.on("close", () => (isClosed = true));
  });
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/events" });
  const text = collect(stream);
  const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
  assert.equal(headers["content-type"], "text/event-stream");
  for (const word of ["one", "two"]) {
    send(word);
    await until(`${word} arrives`, () => text().includes(word));
  }
  assert.equal(text(), "data: one\n\ndata: two\n\n");
  stream.close(constants.NGHTTP2_CANCEL);
  await until("the server notices", () => isClosed && bed.connections() === 0);
});

test("a client that leaves before the answer ends the server's request", async () => {
  await using bed = await startPreviewBed(() => {});
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/" });
  await until("the server has the request", () => bed.seen.length === 1);
  stream.close(constants.NGHTTP2_CANCEL);
  await until("the connection is closed", () => bed.connections() === 0);
});

test("an answer that is not read stops the server", async () => {
  let sent = 0;
  await using bed = await startPreviewBed((_request, response) => {
    const chunk = Buffer.alloc(64 * 1024);
    const push = () => {
      while (!response.destroyed && response.write(chunk)) sent += chunk.length;
    };
    response.on("drain", push);
    push();
  });
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/" });
  stream.pause();
  await once(stream, "response");
  let before = -1;
  await until("the server waits", async () => {
    const isStill = before === sent;
    before = sent;
    await new Promise((resolve) => setTimeout(resolve, 300));
    return isStill;
  });
  assert.ok(sent < 16 * 2 ** 20, `${sent} bytes`);
  stream.close();
  await until("the connection is closed", () => bed.connections() === 0);
});

test("answers without a body, in chunks and compressed arrive as they are", async () => {
  await using bed = await startPreviewBed((request, response) => {
    switch (request.url) {
      case "/304":
        return response.writeHead(304, { etag: '"1"' }).end();
      case "/204":
        return response.writeHead(204).end();
      case "/chunks":
        response.write("one ");
        setTimeout(() => response.end("two"), 50);
        return undefined;
      case "/packed":
        return response.writeHead(200, { "content-encoding": "br" }).end("\u0001\u0002");
      case "/hints":
        response.writeEarlyHints({ link: "</a.css>; rel=preload" });
        return response.end("hinted");
      default:
        return response.writeHead(200, { "content-length": "5", "x-a": "b" }).end("whole");
    }
  });
  const ask = (method: string, path: string, more?: Asking) => bed.tunnel.ask(method, path, more);
  const head = await ask("HEAD", "/");
  assert.deepEqual(
    [head.status, head.headers["content-length"], head.text, head.isWhole],
    [200, "5", "", true],
  );
  const whole = await ask("GET", "/");
  assert.deepEqual([whole.headers["content-length"], whole.headers["x-a"]], ["5", "b"]);
  assert.equal(whole.text, "whole");
  const same = await ask("GET", "/304", { headers: { "if-none-match": '"1"' } });
  assert.deepEqual([same.status, same.headers["etag"], same.isWhole], [304, '"1"', true]);
  assert.equal(bed.seen.at(-1)!.headers["if-none-match"], '"1"');
  assert.deepEqual(
    [(await ask("GET", "/204")).status, (await ask("POST", "/204")).status],
    [204, 204],
  );
  const chunks = await ask("GET", "/chunks");
  assert.deepEqual([chunks.text, chunks.headers["transfer-encoding"]], ["one two", undefined]);
  const packed = await ask("GET", "/packed");
  assert.deepEqual([packed.headers["content-encoding"], packed.text], ["br", "\u0001\u0002"]);
  assert.equal((await ask("GET", "/hints")).text, "hinted");
  await until("no connection is left", () => bed.connections() === 0);
});

test("a client that waits for 100 Continue gets it from the daemon, and the server is not asked", async () => {
  await using bed = await startPreviewBed(mirror);
  const headers = { ":method": "POST", ":path": "/", expect: "100-continue" };
  const stream = bed.tunnel.session.request(headers);
  const text = collect(stream);
  await once(stream, "continue");
  stream.end("body");
  await once(stream, "close");
  const seen = JSON.parse(text()) as { size: number; headers: object };
  assert.equal(seen.size, 4);
  assert.ok(!("expect" in seen.headers));
});
