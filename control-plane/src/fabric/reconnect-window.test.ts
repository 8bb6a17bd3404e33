// The window over which hosts spread their return: as a table of loads, and asked of edges on a real
// nats-server.
import assert from "node:assert/strict";
import { test } from "node:test";
import { startNats } from "@hawser/testkit/nats.ts";
import { createLog } from "../log.ts";
import { connectFabric } from "./connection.ts";
import { connectEdge, makeEdgeIdentity, type EdgeLoad } from "./edge-identity.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createReconnectWindow, windowFor } from "./reconnect-window.ts";

const load = (links: number, perSecond: number): EdgeLoad => ({ links, perSecond });

for (const [what, loads, seconds] of [
  ["one edge", [load(2_000, 100)], 25],
  ["twice the edges, half the time", [load(1_000, 100), load(1_000, 100)], 12.5],
  ["a node beside separate edges, which no host dials", [load(2_000, 100), load(0, 900)], 25],
  ["a slow edge and a fast one", [load(1_000, 50), load(1_000, 200)], 10],
  ["few hosts", [load(3, 250)], 3],
  ["more hosts than can return in five minutes", [load(1_000_000, 250)], 300],
  ["no links", [load(0, 250)], undefined],
  ["no edges", [], undefined],
] as const) {
  test(`${what}: ${seconds} s`, () => assert.equal(windowFor(loads), seconds));
}

test("a node asks all edges, and keeps its window while none answers", async () => {
  const log = createLog("silent");
  const { keys } = makeFabricKeys();
  await using nats = await startNats({ keys });
  const fabric = await connectFabric({ keys, urls: nats.urls, name: "node.test", log });
  const window = createReconnectWindow(fabric);
  await window.refresh();
  assert.equal(window.seconds(), 3, "nobody has answered yet");
  const user = () => makeEdgeIdentity(keys).user;
  const edges = await Promise.all(
    ["e1", "e2"].map((edgeId) => connectEdge({ user, urls: nats.urls, edgeId, log })),
  );
  edges[0]!.reportLoad(() => load(1_500, 100));
  edges[1]!.reportLoad(() => load(500, 100));
  // An answer that cannot be read is that of an edge of another version.
  fabric.subscribe("edge.every.alive", {}, ({ respond }) => respond("{}"));
  for (let tries = 0; window.seconds() !== 12.5 && tries < 20; tries++) await window.refresh();
  assert.equal(window.seconds(), 12.5);
  await Promise.all(edges.map((edge) => edge.close()));
  await window.refresh();
  assert.equal(window.seconds(), 12.5);
  await fabric.close();
  await window.refresh();
  assert.equal(window.seconds(), 12.5);
});
