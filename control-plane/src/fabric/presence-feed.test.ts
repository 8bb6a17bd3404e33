// What nodes learn of the connections of hosts, from a real nats-server and the notices of an edge.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeNkey } from "@hawser/host-protocol";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import { connectRawHost } from "@hawser/testkit/raw-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { connectFabric, type Fabric } from "./connection.ts";
import { connectEdge, makeEdgeIdentity } from "./edge-identity.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";
import { feedPresence } from "./presence-feed.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
const tokens = createHostTokens(keys, 3600);
let nats: Nats;
let nodes: Fabric[];

before(async () => {
  nats = await startNats({ keys });
  const dial = () => connectFabric({ keys, urls: nats.urls, name: "node.test", log });
  nodes = [await dial(), await dial()];
});

after(async () => {
  await Promise.all(nodes.map((node) => node.close()));
  await nats[Symbol.asyncDispose]();
});

/** A node's feed, which records the events of one host. Each event takes a while to process. */
async function follow(node: Fabric, user: string) {
  const heard: string[] = [];
  let begun = 0;
  const record = async (line: string) => {
    begun += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
    heard.push(line);
  };
  const ofHost = (connection: { user: string; clientId: number }, line: string) =>
    connection.user === user ? record(`${line} ${connection.clientId}`) : Promise.resolve();
  const feed = feedPresence(
    node,
    keys.accountPublicKey,
    {
      connected: (connection) => ofHost(connection, "connected"),
      disconnected: (connection) => ofHost(connection, "disconnected"),
      admitted: ({ publicKey, edgeId, clientId }) =>
        record(`${publicKey === user ? edgeId : "another's"} ${clientId}`),
    },
    log,
  );
  await node.system.flush();
  await node.flush();
  return { feed, heard, begun: () => begun };
}

const address = () => nats.websockets[0]!;

test("each event reaches one node, in the order of its connection", async () => {
  const key = makeNkey("user");
  const { token } = tokens.mint("ins_a", key.publicKey);
  const [one, other] = await Promise.all(nodes.map((node) => follow(node, key.publicKey)));
  const all = () => [...one!.heard, ...other!.heard];
  const count = 20;
  for (let i = 0; i < count; i++) {
    const host = await connectRawHost({ address: address(), key, token });
    host[Symbol.dispose]();
  }
  await until("all events are heard", () => all().length >= 2 * count);
  assert.equal(new Set(all()).size, 2 * count, "none is heard twice");
  for (const { heard } of [one!, other!]) {
    for (const [at, line] of heard.entries()) {
      const started = heard.indexOf(line.replace("disconnected", "connected"));
      assert.ok(started <= at, `${line} before its start`);
    }
    assert.ok(heard.length > 0, "both nodes take part");
  }
  await Promise.all([one!.feed.close(), other!.feed.close()]);
});

test("a node that stops finishes the events it has, and leaves the others to the next node", async () => {
  const key = makeNkey("user");
  const { token } = tokens.mint("ins_a", key.publicKey);
  const stopping = await follow(nodes[0]!, key.publicKey);
  using host = await connectRawHost({ address: address(), key, token });
  await until("the event has arrived", () => stopping.begun() === 1);
  const staying = await follow(nodes[1]!, key.publicKey);
  await stopping.feed.close();
  assert.equal(stopping.heard.length, 1);
  for (let i = 0; i < 10; i++) {
    const next = await connectRawHost({ address: address(), key, token });
    next[Symbol.dispose]();
  }
  host[Symbol.dispose]();
  await until("the other node hears all", () => staying.heard.length === 21);
  assert.equal(stopping.heard.length, 1);
  await staying.feed.close();
});

test("an edge's report names the connection", async () => {
  const key = makeNkey("user");
  const user = () => makeEdgeIdentity(keys).user;
  const edge = await connectEdge({ user, urls: nats.urls, edgeId: "e1", log });
  const node = await follow(nodes[0]!, key.publicKey);
  edge.announce({ publicKey: key.publicKey, serverId: "N1", clientId: 7 });
  await until("it is heard", () => node.heard.length === 1);
  assert.deepEqual(node.heard, ["e1 7"]);
  await edge.close();
  await node.feed.close();
});

test("an edge's report that cannot be stored is a warning, like other events", async (t) => {
  const user = () => makeEdgeIdentity(keys).user;
  const edge = await connectEdge({ user, urls: nats.urls, edgeId: "e1", log });
  t.after(() => edge.close());
  const warnings: string[] = [];
  const warn = (_fields: object, message: string) => void warnings.push(message);
  const feed = feedPresence(
    nodes[0]!,
    keys.accountPublicKey,
    {
      connected: () => Promise.resolve(),
      disconnected: () => Promise.resolve(),
      admitted: () => Promise.reject(new Error("The database does not answer.")),
    },
    Object.assign(Object.create(log) as typeof log, { warn }),
  );
  t.after(() => feed.close());
  await nodes[0]!.flush();
  edge.announce({ publicKey: makeNkey("user").publicKey, serverId: "N1", clientId: 7 });
  await until("it is reported", () => warnings.length === 1);
  assert.deepEqual(warnings, ["the edge of a host was not recorded"]);
});
