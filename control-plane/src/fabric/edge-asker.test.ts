// Whether an edge is alive, asked on a real nats-server: of edges that answer, stop, freeze and are killed.
import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { after, before, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import { nodeEnvironment } from "@hawser/testkit/node-environment.ts";
import { stopProcess } from "@hawser/testkit/stop-process.ts";
import { until } from "@hawser/testkit/until.ts";
import { freezeProcess } from "@hawser/testkit/processes.ts";
import { createLog } from "../log.ts";
import { connectFabric, type Fabric } from "./connection.ts";
import { createEdgeAsker, type EdgeAsker } from "./edge-asker.ts";
import { connectEdge, makeEdgeIdentity } from "./edge-identity.ts";
import { makeFabricKeys } from "./fabric-keys.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
let nats: Nats;
let fabric: Fabric;
let isAlive: EdgeAsker;

before(async () => {
  nats = await startNats({ keys });
  fabric = await connectFabric({ keys, urls: nats.urls, name: "node.test", log });
  isAlive = createEdgeAsker(fabric);
});

after(async () => {
  await fabric.close();
  await nats[Symbol.asyncDispose]();
});

const user = () => makeEdgeIdentity(keys).user;

test("an edge is alive until it closes its connection, and A14: after it connects again", async (t) => {
  assert.equal(await isAlive("none"), false);
  const edge = await connectEdge({ user, urls: nats.urls, edgeId: "e1", log });
  t.after(() => edge.close());
  assert.equal(await isAlive("e1"), true);
  await edge.reconnect();
  // The server may still be processing the edge's subscription.
  await until("the edge answers again", () => isAlive("e1"), 2_000);
  await edge.close();
  const started = performance.now();
  assert.equal(await isAlive("e1"), false);
  assert.ok(performance.now() - started < 1_000, "no answer is waited for");
});

/** An edge's connection in its own process, which can be killed and frozen. */
async function edgeProcess(t: TestContext, edgeId: string): Promise<ChildProcess> {
  const script = `
    import { connectEdge } from "./edge-identity.ts";
    import { createLog } from "../log.ts";
    const { user, urls, edgeId } = JSON.parse(process.env.EDGE);
    await connectEdge({ user: () => user, urls, edgeId, log: createLog("silent") });
    process.stdout.write("ready");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
    cwd: fileURLToPath(new URL(".", import.meta.url)),
    env: {
      ...nodeEnvironment(),
      EDGE: JSON.stringify({ user: user(), urls: nats.urls, edgeId }),
    },
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => stopProcess(child, "SIGKILL"));
  await once(child.stdout, "data", { signal: AbortSignal.timeout(20_000) });
  return child;
}

test("an edge that was killed never counts as alive, whenever it is asked", async (t) => {
  for (let round = 0; round < 10; round++) {
    const edgeId = `killed-${round}`;
    const child = await edgeProcess(t, edgeId);
    assert.equal(await isAlive(edgeId), true);
    const gone = once(child, "exit");
    child.kill("SIGKILL");
    await gone;
    const answers = await Promise.all(Array.from({ length: 20 }, () => isAlive(edgeId)));
    assert.deepEqual([...new Set(answers)], [false]);
  }
});

test("an edge that does not answer in time is not alive", async (t) => {
  const child = await edgeProcess(t, "frozen");
  freezeProcess(child.pid!);
  const started = performance.now();
  assert.equal(await isAlive("frozen"), false);
  assert.ok(performance.now() - started < 5_000);
  child.kill("SIGCONT");
});

test("connections that end together ask one question, and a later one asks again", async () => {
  const edge = await connectEdge({ user, urls: nats.urls, edgeId: "e2", log });
  let asked = 0;
  const counting = createEdgeAsker({
    request: (...question) => {
      asked += 1;
      return fabric.request(...question);
    },
  });
  const answers = await Promise.all(Array.from({ length: 500 }, () => counting("e2")));
  assert.deepEqual([[...new Set(answers)], asked], [[true], 1]);
  const first = counting("e2");
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  // The first question is on its way, so its answer may be older than this end of a connection.
  await Promise.all([first, counting("e2")]);
  assert.equal(asked, 3);
  await edge.close();
});
