// Requests, streams and WebSockets through the public side, a real tunnel and a host's end, at one node and at two.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Refusal } from "@hawser/contract";
import {
  answered,
  exposureDomain,
  startExposureBed,
  type ExposureBed,
  type MadeExposure,
} from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket } from "ws";

let server: ExposedServer;
let bed: ExposureBed;

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle, { nodes: 2 });
});

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const get = (exposure: MadeExposure, path = "/hello", node = 0) =>
  answered(bed.request(exposure, { path, node }));

function openWebSocket(exposure: MadeExposure, path = "/socket", node = 0): WebSocket {
  const { host, authorization } = exposure;
  return new WebSocket(`ws://127.0.0.1:${bed.nodes[node]!.publicPort}${path}`, {
    headers: { host, authorization, origin: `https://${host}` },
    perMessageDeflate: false,
  });
}

/** Opens a stream of events, and resolves once its first event has come. */
async function openEvents(exposure: MadeExposure, node = 0, at = bed): Promise<IncomingMessage> {
  const request = at.request(exposure, { path: "/events", node });
  request.on("error", () => {});
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  response.on("error", () => {});
  await once(response, "data");
  return response;
}

for (const [what, node] of [
  ["the node that holds the tunnel", 0],
  ["another node", 1],
] as const) {
  test(`a request at ${what} reaches the host, with its body`, async () => {
    const exposure = bed.make();
    const { status, body } = await get(exposure, "/hello", node);
    assert.deepEqual([status, body.toString()], [200, "hello"]);
    const sent = randomBytes(3_000_000);
    const echo = await answered(
      bed.request(exposure, { path: "/echo", method: "POST", node }),
      sent,
    );
    assert.equal(echo.status, 200);
    assert.ok(echo.body.equals(sent));
    assert.equal(bed.nodes[0]!.traffic.counts().tunnels > 0, true);
    assert.equal(bed.nodes[1]!.traffic.counts().tunnels, 0);
  });

  test(`a WebSocket at ${what} echoes text and 300 kB of binary`, async () => {
    const socket = openWebSocket(bed.make(), "/socket", node);
    await once(socket, "open");
    for (const message of [Buffer.from("hello"), randomBytes(300_000)]) {
      socket.send(message);
      const [echo] = (await once(socket, "message")) as [Buffer];
      assert.ok(echo.equals(message));
    }
    socket.close();
    await once(socket, "close");
  });

  test(`500 parallel requests at ${what} are all answered`, async () => {
    const exposure = bed.make();
    const answers = await Promise.all(
      Array.from({ length: 500 }, () => get(exposure, "/bytes/5000", node)),
    );
    for (const { status, body } of answers) assert.deepEqual([status, body.length], [200, 5000]);
  });

  test(`F13: a cut tunnel ends 50 streams at ${what} within 1 s, and new requests work`, async () => {
    const exposure = bed.make();
    const streams = await Promise.all(Array.from({ length: 50 }, () => openEvents(exposure, node)));
    const cutAt = performance.now();
    const ended = streams.map(async (stream) => {
      await new Promise((resolve) => stream.once("close", resolve));
      assert.equal(stream.complete, false, "the client sees that the answer is not whole");
      return performance.now() - cutAt;
    });
    bed.host.cut();
    const slowest = Math.max(...(await Promise.all(ended)));
    assert.ok(slowest < 1_000, `${slowest} ms`);
    await until(
      "requests work again",
      async () => (await get(exposure, "/", node)).status === 200,
      3_000,
    );
  });
}

test("requests beyond those that a host serves wait, and then get 429, at every node", async () => {
  const held: ServerHttp2Stream[] = [];
  const hold = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => {
    stream.respond({ ":status": 200 });
    if (headers[":path"] === "/hello") stream.end("hello");
    else {
      stream.write("first");
      held.push(stream);
    }
  };
  const limits = { waitMs: 2_000 };
  await using small = await startExposureBed(hold, { nodes: 2, hostStreams: 4, limits });
  const exposure = small.make();
  const ask = (node: number) => answered(small.request(exposure, { path: "/hello", node }));
  // A node that has not heard of the tunnel has the host open another one.
  await ask(0);
  await until("both nodes use one tunnel", async () => {
    const dialled = small.host.dialled();
    await ask(1);
    return small.host.dialled() === dialled;
  });
  for (const node of [0, 1, 0, 1]) await openEvents(exposure, node, small);
  for (const node of [0, 1]) {
    const refused = await ask(node);
    assert.deepEqual([refused.status, refused.headers["retry-after"]], [429, "5"], `node ${node}`);
    assert.match(refused.body.toString(), /as many connections open as its host serves/);
    const waits = ask(node);
    held.shift()!.end();
    assert.equal((await waits).status, 200, `node ${node}, when there is room`);
    await openEvents(exposure, node, small);
  }
});

test("a failure of an exposed server is not counted as one of the service", async () => {
  const answer = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) =>
    stream.respond({ ":status": Number(headers[":path"]!.slice(1)) }, { endStream: true });
  await using small = await startExposureBed(answer);
  const exposure = small.make();
  for (const status of [502, 503, 429, 401]) {
    const { status: shown } = await answered(small.request(exposure, { path: `/${status}` }));
    assert.equal(shown, status);
  }
  small.fault.host = new Refusal("host_offline", "The host is not connected.");
  small.host.cut();
  await until(
    "the host is away",
    async () => (await answered(small.request(small.make()))).status === 503,
  );
  await until("all are counted", () => small.answers.length >= 5);
  const first = [502, 503, 429, 401].map((status) => [status, "host"]);
  assert.deepEqual(
    [...small.answers.slice(0, 4), small.answers.at(-1)],
    [...first, [503, "service"]],
  );
});

test("a host may close a tunnel in order at any time: no request fails", async () => {
  const exposure = bed.make();
  for (let i = 0; i < 10; i++) {
    const answers = Array.from({ length: 5 }, (_, at) => get(exposure, "/", at % 2));
    if (i % 2 === 0) await Promise.race(answers);
    bed.host.retire();
    answers.push(get(exposure));
    const statuses = (await Promise.all(answers)).map(
      ({ status, body }) => `${status} ${body.toString()}`,
    );
    assert.deepEqual(new Set(statuses), new Set(["200 hello"]));
  }
});

test("a node that stops hands over: its streams go on, and new requests use another node", async () => {
  await using two = await startExposureBed(server.handle, { nodes: 2 });
  const exposure = two.make();
  const stream = await openEvents(exposure, 1, two);
  assert.equal(two.nodes[0]!.traffic.counts().tunnels, 1);
  two.nodes[0]!.traffic.drain();
  two.dialsNode = 1;
  for (let i = 0; i < 20; i++) {
    assert.equal((await answered(two.request(exposure, { node: 1 }))).status, 200);
  }
  assert.equal(two.nodes[1]!.traffic.counts().tunnels, 1);
  assert.equal(stream.destroyed, false);
});

test("requests that come together open one tunnel", async () => {
  const exposure = bed.make();
  const before = bed.host.dialled();
  await Promise.all(Array.from({ length: 20 }, (_, i) => get(exposure, "/", i % 2)));
  // Two nodes may each ask the host.
  assert.ok(bed.host.dialled() - before <= 2);
});

test("an unread answer stops the host, and does not slow down others", async (t) => {
  const exposure = bed.make();
  const request = bed.request(exposure, { path: "/flood" });
  t.after(() => request.destroy());
  request.on("error", () => {});
  request.end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  response.pause();
  const before = server.flooded();
  await until("the host has stopped", async () => {
    const now = server.flooded();
    await pause(300);
    return server.flooded() === now;
  });
  assert.ok(server.flooded() - before < 16 * 1024 * 1024, `${server.flooded() - before} bytes`);
  const startedAt = performance.now();
  assert.equal((await get(exposure)).status, 200);
  assert.ok(performance.now() - startedAt < 500);
});

test("many large answers of one exposure do not stop another one, between two nodes", async (t) => {
  const [large, small] = [bed.make(), bed.make()];
  assert.equal((await get(small, "/hello", 1)).status, 200);
  for (let i = 0; i < 40; i++) {
    const request = bed.request(large, { path: "/flood", node: 1 });
    request.on("error", () => {});
    t.after(() => request.destroy());
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    // Half of them are read, and half are not.
    if (i % 2 === 0) response.resume();
    response.on("error", () => {});
  }
  for (let i = 0; i < 5; i++) {
    const startedAt = performance.now();
    assert.equal((await get(small, "/bytes/5000", 1)).status, 200);
    assert.ok(performance.now() - startedAt < 2_000);
  }
});

test("a refused WebSocket gets the host's answer", async () => {
  const socket = openWebSocket(bed.make(), "/refused");
  socket.on("error", () => {});
  const [, response] = (await once(socket, "unexpected-response")) as [unknown, IncomingMessage];
  assert.equal(response.statusCode, 403);
  socket.terminate();
});

test("a user of a host that cannot be reached gets a sentence", async (t) => {
  t.after(() => delete bed.fault.host);
  bed.fault.host = new Refusal("host_offline", "The host is offline. Start its daemon.");
  const { status, body } = await get(bed.make());
  assert.deepEqual([status, body.toString()], [503, "The host is offline. Start its daemon.\n"]);
});

test("a client that leaves ends the stream at the host", async () => {
  const exposure = bed.make();
  const stream = await openEvents(exposure);
  const open = server.events.size;
  stream.destroy();
  await until("the stream has ended", () => server.events.size === open - 1, 1_000);
});

test("N22: uses are counted, with the bytes in both directions", async () => {
  const exposure = bed.make();
  const sent = randomBytes(100_000);
  await answered(bed.request(exposure, { path: "/echo", method: "POST" }), sent);
  await get(exposure, "/bytes/777");
  await answered(bed.request(exposure, { headers: { authorization: "Basic eDp4" } }));
  const mine = () => bed.uses.filter(({ exposureId }) => exposureId === exposure.exposureId);
  const sum = (what: "requests" | "refused" | "bytesIn" | "bytesOut") =>
    mine().reduce((total, use) => total + use[what], 0);
  await until("the uses are reported", () => sum("requests") === 2 && sum("refused") === 1);
  assert.deepEqual([sum("bytesIn"), sum("bytesOut")], [100_000, 100_777]);
  const counted = [
    [200, "host"],
    [200, "host"],
    [401, "service"],
  ];
  assert.deepEqual(bed.answers.slice(-3), counted, "as metrics count them");
  for (const { address, organizationId, requests, lastUsedAt } of mine()) {
    assert.deepEqual([address, organizationId], ["127.0.0.1", exposure.organizationId]);
    assert.ok(requests === 0 || Math.abs(Date.now() - lastUsedAt) < 20_000);
  }
});

test(`an exposure has its own host name below ${exposureDomain}`, async () => {
  const exposure = bed.make();
  for (const host of [
    exposureDomain,
    `x.${exposure.host}`,
    `${exposure.host}.other.example`,
    "x",
  ]) {
    const { status } = await answered(bed.request(exposure, { headers: { host } }));
    assert.equal(status, 401, host);
  }
  const upper = { host: exposure.host.toUpperCase() };
  assert.equal((await answered(bed.request(exposure, { headers: upper }))).status, 200);
});
