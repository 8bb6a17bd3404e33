// Reading the lists of real nats-servers in small pages, while connections end between two of them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeNkey } from "@hawser/host-protocol";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import { connectRawHost } from "@hawser/testkit/raw-host.ts";
import { until } from "@hawser/testkit/until.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";
import { createLog } from "../log.ts";
import { FabricTimeout, connectFabric, type Fabric } from "./connection.ts";
import { makeFabricKeys } from "./fabric-keys.ts";
import { createHostTokens } from "./host-token.ts";
import { identifyConnection, listConnections, type ListedConnection } from "./list-connections.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
const pageSize = 4;
let nats: Nats;
let fabric: Fabric;

before(async () => {
  nats = await startNats({ keys });
  fabric = await connectFabric({ keys, urls: nats.urls, name: "node.test", log });
});

after(async () => {
  await fabric.close();
  await nats[Symbol.asyncDispose]();
});

let groups = 0;

/** Connections in the order of their numbers, with unique names. */
async function connectMany(count: number) {
  const group = (groups += 1);
  const names = Array.from({ length: count }, (_, at) => `${group}.${at}`);
  const all: Fabric[] = [];
  for (const name of names) all.push(await connectFabric({ keys, urls: nats.urls, name, log }));
  return {
    all,
    names,
    /** The listed connections among them. */
    ofThese: (listed: ListedConnection[]) =>
      listed.map(({ name }) => name).filter((name) => names.includes(name)),
    [Symbol.asyncDispose]: async () => void (await Promise.all(all.map((each) => each.close()))),
  };
}

/** Lists, and runs `meanwhile` before each page except the first. */
function list(meanwhile: (page: number) => Promise<void> = () => Promise.resolve()) {
  let page = 0;
  const { system } = fabric;
  return listConnections(
    {
      requestMany: system.requestMany,
      async request(...asked) {
        page += 1;
        if (page > 1) await meanwhile(page);
        return system.request(...asked);
      },
    },
    keys.accountPublicKey,
    pageSize,
  );
}

test("a list of many pages is read whole, each connection once", async () => {
  await using many = await connectMany(11);
  const { listed, servers, cut } = await list();
  assert.deepEqual(many.ofThese(listed), many.names);
  assert.deepEqual([servers.size, cut.size], [1, 0]);
});

test("connections that end between two pages hide none of those that are there", async () => {
  for (const ended of [1, 2, 5, 9]) {
    await using many = await connectMany(14);
    const { listed, cut } = await list(async (page) => {
      if (page === 3) await Promise.all(many.all.slice(0, ended).map((each) => each.close()));
    });
    const found = many.ofThese(listed);
    const missing = many.names.slice(ended).filter((name) => !found.includes(name));
    assert.deepEqual(missing, [], `after the end of ${ended}`);
    assert.equal(new Set(found).size, found.length, "each once");
    assert.equal(cut.size, 0);
  }
});

test("a list that shrinks at every page is read to its end", async () => {
  await using many = await connectMany(14);
  const { listed, cut } = await list(async (page) => {
    await many.all[page - 2]?.close();
  });
  assert.ok(many.ofThese(listed).includes(many.names.at(-1)!));
  assert.equal(cut.size, 0);
});

test("a server that misses a later page has answered, and not to the end", async () => {
  await using _many = await connectMany(6);
  const { servers, cut } = await list(() =>
    Promise.reject(new FabricTimeout("No answer came in time.")),
  );
  assert.deepEqual([servers.size, [...cut]], [1, [...servers]]);
});

test("a connection is identified by the key it proved, and not by the name it gives itself", async () => {
  const key = makeNkey("user");
  const { token } = createHostTokens(keys, 3600).mint("ins_a", key.publicKey);
  const before = new Set((await list()).listed.map(({ clientId }) => clientId));
  const host = await connectRawHost({ address: nats.websockets[0]!, key, token });
  const added = (await list()).listed.filter(({ clientId }) => !before.has(clientId));
  assert.deepEqual(
    added.map(({ name }) => name),
    ["raw"],
  );
  const { serverId, clientId } = added[0]!;
  const identified = await identifyConnection(fabric.system, { serverId, clientId });
  assert.deepEqual(identified, { serverId, clientId, user: key.publicKey });
  host[Symbol.dispose]();
  await until("it has ended", async () => !(await identifyConnection(fabric.system, added[0]!)));
  assert.equal(await identifyConnection(fabric.system, { serverId: "NNONE", clientId }), undefined);
});

test("a frozen server is silent and routed, and a killed one is unknown to the others", async (t) => {
  await using cluster = await startNats({ keys, servers: 3 });
  const node = await connectFabric({ keys, urls: [cluster.urls[0]!], name: "node.cluster", log });
  t.after(() => node.close());
  const look = () => listConnections(node.system, keys.accountPublicKey);
  assert.equal((await look()).servers.size, 3);
  const [, frozen, killed] = cluster.servers;
  freezeProcess(frozen!.pid);
  const during = await look().finally(() => process.kill(frozen!.pid, "SIGCONT"));
  assert.deepEqual([during.servers.size, during.routed.size, during.cut.size], [2, 1, 0]);
  await killed!.kill();
  await until("the others know", async () => {
    const { servers, routed } = await look();
    return servers.size === 2 && routed.size === 0;
  });
});
