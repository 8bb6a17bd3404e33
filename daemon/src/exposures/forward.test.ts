// A tunnel to any server on loopback: what reaches the server, what leaves it, and what ends when the tunnel does.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { startTunnelEdge, type AcceptedTunnel } from "@hawser/testkit/tunnel-edge.ts";
import { until } from "@hawser/testkit/until.ts";
import { silentLog } from "../log.ts";
import { answerJson, readJson, refuse, type RequestRefused } from "./answer.ts";
import { forward, type Passing } from "./forward.ts";
import { mostStreams, openTunnel, type Tunnel, type TunnelTiming } from "./tunnel.ts";

interface Bed extends AsyncDisposable {
  tunnel: AcceptedTunnel;
  opened: Tunnel;
  /** What reached the server. */
  seen: IncomingMessage[];
  /** Whether the server has the port. */
  upstream: { isListening: boolean };
  connections: () => number;
}

interface Wanted {
  answer: RequestListener;
  passing?: Passing;
  headers?: Record<string, string>;
  timing?: Partial<TunnelTiming>;
}

async function open({ answer, passing, headers = {}, timing }: Wanted): Promise<Bed> {
  const edge = await startTunnelEdge();
  const seen: IncomingMessage[] = [];
  let connections = 0;
  const server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  server.on("connection", (socket) => {
    connections++;
    socket.on("close", () => connections--);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const upstream = { isListening: true };
  const accepted = edge.accept();
  const opened = await openTunnel(
    {
      url: edge.url,
      ticket: "t",
      log: silentLog,
      timing,
      serve(stream, { ":path": path = "/", ":method": method = "GET" }) {
        if (method === "POST") {
          void readJson(stream, 1_000).then(
            (value) => answerJson(stream, 200, value),
            (error: unknown) => refuse(stream, error as RequestRefused),
          );
          return;
        }
        const to = { port, isListening: () => upstream.isListening };
        forward(stream, to, { method, path, headers }, passing ?? { type: "unchanged" }).catch(
          (error: unknown) => refuse(stream, error as RequestRefused),
        );
      },
    },
    AbortSignal.timeout(5_000),
  );
  const tunnel = await accepted;
  return {
    tunnel,
    opened,
    seen,
    upstream,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      opened.close("stopped");
      await opened.ended;
      server.closeAllConnections();
      server.close();
      await edge[Symbol.asyncDispose]();
    },
  };
}

test("N18: only given headers reach the server, and only listed ones leave it", async () => {
  await using bed = await open({
    headers: { accept: "a/b", authorization: "Basic own" },
    answer: (_request, response) =>
      response
        .writeHead(200, {
          "content-type": "text/plain",
          "set-cookie": "a=b",
          "service-worker-allowed": "/",
          "access-control-allow-origin": "*",
          "x-powered-by": "x",
          link: "<http://127.0.0.1:1/x>; rel=next",
          etag: '"1"',
        })
        .end("fine"),
  });
  const answer = await bed.tunnel.ask("GET", "/a?b=c", {
    headers: {
      authorization: "Basic theirs",
      cookie: "c=d",
      forwarded: "for=1.2.3.4",
      "x-forwarded-for": "1.2.3.4",
      "x-other": "y",
    },
  });
  const { ":status": status, date: _date, ...headers } = answer.headers;
  assert.equal(status, 200);
  assert.deepEqual(Object.fromEntries(Object.entries(headers)), {
    "content-type": "text/plain",
    etag: '"1"',
  });
  assert.equal(answer.text, "fine");
  assert.equal(bed.seen[0]!.url, "/a?b=c");
  const { host: _host, ...sent } = bed.seen[0]!.headers;
  assert.deepEqual(sent, {
    accept: "a/b",
    authorization: "Basic own",
    "accept-encoding": "identity",
    connection: "close",
  });
});

const redirects: [string, string | undefined][] = [
  ["/elsewhere", "/elsewhere"],
  ["//evil.example/", undefined],
  ["/\\evil.example/", undefined],
  ["https://evil.example/", undefined],
  ["http://127.0.0.1:4096/", undefined],
  ["javascript:alert(1)", undefined],
];

test("N18: a redirect stays on the exposure's own host", async () => {
  await using bed = await open({
    answer: ({ url }, response) =>
      response.writeHead(302, { location: redirects[Number(url!.slice(1))]![0] }).end(),
  });
  for (const [at, [location, expected]] of redirects.entries()) {
    const answer = await bed.tunnel.ask("GET", `/${at}`);
    assert.equal(answer.headers["location"], expected, location);
  }
});

test("N17: a server that has lost its port gets no byte", async () => {
  await using bed = await open({ answer: (_request, response) => response.end("fine") });
  assert.equal((await bed.tunnel.ask("GET", "/")).status, 200);
  bed.upstream.isListening = false;
  const answer = await bed.tunnel.ask("GET", "/");
  assert.equal(answer.status, 502);
  assert.equal((answer.json() as { error: { code: string } }).error.code, "agent_gone");
  assert.equal(bed.seen.length, 1);
});

test("an answer that is not read stops its server, and delays no other", async () => {
  let sent = 0;
  await using bed = await open({
    answer({ url }, response) {
      if (url !== "/endless") return response.end("fine");
      const chunk = Buffer.alloc(64 * 1024);
      const push = () => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
        sent += chunk.length;
      };
      response.on("drain", push);
      push();
      return undefined;
    },
  });
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/endless" });
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
  assert.equal((await bed.tunnel.ask("GET", "/other")).text, "fine");
  const paused = sent;
  stream.resume();
  await until("the server goes on", () => sent > paused + 2 ** 20);
  stream.close();
  await until("the server's connection is closed", () => bed.connections() === 0);
});

const endless: RequestListener = (_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: 1\n\n");
};

test("F13: when the WebSocket is cut, every stream and its connection ends within a second", async () => {
  await using bed = await open({ answer: endless });
  const streams = Array.from({ length: 50 }, () =>
    bed.tunnel.open({ ":method": "GET", ":path": "/" }),
  );
  await Promise.all(streams.map((stream) => once(stream, "data")));
  assert.equal(bed.connections(), 50);
  const cutAt = performance.now();
  bed.tunnel.socket.terminate();
  assert.equal(await bed.opened.ended, "lost");
  await until("the connections are closed", () => bed.connections() === 0);
  assert.ok(streams.every(({ destroyed }) => destroyed));
  assert.ok(performance.now() - cutAt < 1_000);
});

test("a closed tunnel ends its streams at once, and says why", async () => {
  await using bed = await open({ answer: endless });
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/" });
  await once(stream, "data");
  bed.opened.close("expired");
  bed.opened.close("stopped");
  assert.equal(await bed.opened.ended, "expired");
  assert.deepEqual(await bed.tunnel.closed, { code: 1000, reason: "expired" });
  await until("the connection is closed", () => bed.connections() === 0);
});

test("a tunnel without a stream is closed after a while, one with a stream is not", async () => {
  await using bed = await open({ answer: endless, timing: { idleMs: 300 } });
  const stream = bed.tunnel.open({ ":method": "GET", ":path": "/" });
  await once(stream, "data");
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.equal(stream.destroyed, false);
  stream.close();
  assert.equal(await bed.opened.ended, "idle");
});

test("a tunnel whose other side no longer answers is cut", async () => {
  await using bed = await open({ answer: endless, timing: { pingMs: 50, pongMs: 200 } });
  await new Promise((resolve) => setTimeout(resolve, 500));
  assert.equal(bed.tunnel.socket.readyState, 1);
  bed.tunnel.socket.pause();
  assert.equal(await bed.opened.ended, "lost");
});

test("a tunnel has a limit of streams, of headers and of bodies", async () => {
  await using bed = await open({ answer: endless });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(bed.tunnel.session.remoteSettings.maxConcurrentStreams, mostStreams);
  assert.equal(bed.tunnel.session.remoteSettings.enableConnectProtocol, true);
  const small = await bed.tunnel.ask("POST", "/", { body: { a: 1 } });
  assert.deepEqual(small.json(), { a: 1 });
  const large = await bed.tunnel.ask("POST", "/", { body: { a: "x".repeat(2_000) } });
  assert.equal(large.status, 413);
  assert.equal((await bed.tunnel.ask("POST", "/", { body: "no json" })).status, 400);
  const headers = { "x-long": "y".repeat(100_000) };
  const long = await bed.tunnel.ask("GET", "/", { headers });
  assert.notEqual(long.status, 200);
});

test("a tunnel that the control plane refuses is not opened", async () => {
  await using edge = await startTunnelEdge();
  edge.refuses = 401;
  const options = { url: edge.url, ticket: "t", serve() {}, log: silentLog };
  await assert.rejects(
    openTunnel(options, AbortSignal.timeout(5_000)),
    /refused the tunnel \(401\)/,
  );
});
