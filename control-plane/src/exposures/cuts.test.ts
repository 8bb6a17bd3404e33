// How soon traffic ends when an exposure does (N21, T24), and what happens if that cannot be checked.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import {
  answered,
  startExposureBed,
  type ExposureBed,
  type MadeExposure,
} from "@hawser/testkit/exposure-bed.ts";
import { startExposedServer, type ExposedServer } from "@hawser/testkit/exposed-server.ts";
import { until } from "@hawser/testkit/until.ts";
import { WebSocket } from "ws";
import { createLog } from "../log.ts";
import { createExposureWatch } from "./watch.ts";

let server: ExposedServer;
let bed: ExposureBed;

before(async () => {
  server = await startExposedServer();
  bed = await startExposureBed(server.handle, {
    nodes: 2,
    limits: { streams: 10, webSockets: 2, waitMs: 100 },
  });
});

after(async () => {
  await bed[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

/** Opens a stream of events or a WebSocket. Resolves to a promise of the time at which it was closed. */
async function openStream(exposure: MadeExposure, kind: "events" | "webSocket", node = 0) {
  if (kind === "events") {
    const request = bed.request(exposure, { path: "/events", node });
    request.on("error", () => {});
    request.end();
    const [response] = (await once(request, "response")) as [IncomingMessage];
    response.on("error", () => {}).resume();
    assert.equal(response.statusCode, 200);
    return { closed: closedAt(response), end: () => response.destroy() };
  }
  const { host, authorization } = exposure;
  const socket = new WebSocket(`ws://127.0.0.1:${bed.nodes[node]!.publicPort}/`, {
    headers: { host, authorization },
  });
  socket.on("error", () => {});
  await once(socket, "open");
  return { closed: closedAt(socket), end: () => socket.terminate() };
}

const closedAt = (stream: { once(event: "close", listener: () => void): unknown }) =>
  new Promise<number>((resolve) => stream.once("close", () => resolve(performance.now())));

test("N21: streams and WebSockets end within 1 s of a revocation, at most, in 50 trials", async (t) => {
  const times: number[] = [];
  for (let batch = 0; batch < 5; batch++) {
    await Promise.all(
      Array.from({ length: 10 }, async (_, i) => {
        const exposure = bed.make();
        const { closed } = await openStream(
          exposure,
          i % 2 ? "events" : "webSocket",
          i % 3 ? 0 : 1,
        );
        await pause(Math.random() * 500);
        const revokedAt = performance.now();
        bed.exposures.delete(exposure.exposureId);
        times.push((await closed) - revokedAt);
      }),
    );
  }
  assert.equal(times.length, 50);
  t.diagnostic(`slowest: ${Math.max(...times).toFixed(0)} ms`);
  assert.ok(Math.max(...times) < 1_000, `${Math.max(...times)} ms`);
  await until(
    "all tunnels are closed",
    () => bed.nodes.every(({ traffic }) => traffic.counts().tunnels === 0),
    2_000,
  );
});

test("T24: streams end when the exposure expires, not before, and new requests are refused", async () => {
  const times = await Promise.all(
    Array.from({ length: 10 }, async (_, i) => {
      const exposure = bed.make(2_000 + i * 50);
      const endsAt = performance.now() + (exposure.expiresAt - Date.now());
      const { closed } = await openStream(exposure, i % 2 ? "events" : "webSocket", i % 3 ? 0 : 1);
      const late = (await closed) - endsAt;
      assert.equal((await answered(bed.request(exposure))).status, 401);
      return late;
    }),
  );
  assert.ok(Math.max(...times) < 500, `${Math.max(...times)} ms`);
  assert.ok(Math.min(...times) > -20, `${Math.min(...times)} ms`);
});

test("a node that revokes an exposure cuts it at once", async () => {
  const exposure = bed.make();
  const { closed } = await openStream(exposure, "events");
  const cutAt = performance.now();
  bed.nodes[0]!.traffic.cut(exposure.exposureId);
  assert.ok((await closed) - cutAt < 100);
});

test("a request that the host has not answered when the exposure ends is answered 401, also with a body", async () => {
  for (const method of ["GET", "POST"]) {
    const exposure = bed.make();
    const request = bed.request(exposure, { path: "/silent", method });
    const answer = answered(request, method === "POST" ? "some text" : undefined);
    await until("the request is open", () => bed.nodes[0]!.traffic.counts().streams === 1, 2_000);
    bed.exposures.delete(exposure.exposureId);
    assert.equal((await answer).status, 401);
    await until("it is closed", () => bed.nodes[0]!.traffic.counts().streams === 0, 2_000);
  }
});

test("N21: an exposure has at most so many streams and WebSockets, and gets room again", async () => {
  const exposure = bed.make();
  const sockets = [
    await openStream(exposure, "webSocket"),
    await openStream(exposure, "webSocket"),
  ];
  await assert.rejects(openStream(exposure, "webSocket"));
  const events = await Promise.all(Array.from({ length: 8 }, () => openStream(exposure, "events")));
  const { status, body } = await answered(bed.request(exposure));
  assert.equal(status, 429);
  assert.match(body.toString(), /10 connections open, which is the limit\. Close one first\./);
  for (const { end } of [...sockets, ...events]) end();
  await until("there is room", async () => (await answered(bed.request(exposure))).status === 200);
});

test("N21: an exposure that has moved its bytes is cut, and refused for the rest of the hour", async (t) => {
  const small = await startExposureBed(server.handle, { limits: { bytesPerHour: 10_000 } });
  t.after(() => small[Symbol.asyncDispose]());
  const exposure = small.make();
  assert.equal((await answered(small.request(exposure, { path: "/bytes/9000" }))).status, 200);
  await assert.rejects(answered(small.request(exposure, { path: "/bytes/9000" })));
  assert.equal((await answered(small.request(exposure))).status, 429);
});

test("exposures that cannot be checked for a while are cut, and those that can be are not", async (t) => {
  const cut: string[] = [];
  const used = new Map<string, number | undefined>([["one", undefined]]);
  const good = () => Promise.resolve(new Set(used.keys()));
  let stillGood: () => Promise<Set<string>> = good;
  const watch = createExposureWatch({
    inUse: () => used,
    stillGood: () => stillGood(),
    cut: (id) => cut.push(id),
    now: Date.now,
    log: createLog("silent"),
    timing: { everyMs: 20, unansweredMs: 300 },
  });
  watch.start();
  t.after(() => watch.close());
  const isCut = () => cut.length > 0;
  const faults = [
    () => Promise.reject(new Error("down")),
    () => new Promise<Set<string>>(() => {}),
  ];
  for (const fault of faults) {
    // A check without an answer is given up after 300 ms.
    stillGood = good;
    await pause(700);
    cut.length = 0;
    stillGood = fault;
    await pause(150);
    assert.equal(isCut(), false, "a short fault is tolerated");
    await until("the exposure is cut", isCut, 1_000);
  }
  stillGood = good;
  await pause(700);
  cut.length = 0;
  await pause(500);
  assert.equal(isCut(), false);
});
