// Which node compares presence, and when, with a real lease and real notices.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test, type TestContext } from "node:test";
import { moveClock } from "@hawser/testkit/clock.ts";
import { startNats, type Nats } from "@hawser/testkit/nats.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import { connectFabric } from "../fabric/connection.ts";
import { makeFabricKeys } from "../fabric/fabric-keys.ts";
import { createLog } from "../log.ts";
import { leadPresence } from "./presence-leader.ts";
import { takeLease } from "./presence-store.ts";

const log = createLog("silent");
const { keys } = makeFabricKeys();
let service: ServiceDatabase;
let nats: Nats;

before(async () => {
  [service, nats] = await Promise.all([openServiceDatabase(), startNats({ keys })]);
});

after(async () => {
  await nats[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

/** A node that counts what it is asked to do. */
async function startNode(t: TestContext, compare = () => Promise.resolve({ isDoubtful: false })) {
  const fabric = await connectFabric({ keys, urls: nats.urls, name: "node.test", log });
  const done = { compared: 0, swept: 0 };
  const leader = leadPresence({
    system: service.database.system,
    fabric,
    presence: {
      compare() {
        done.compared += 1;
        return compare();
      },
      sweep() {
        done.swept += 1;
        return Promise.resolve();
      },
    },
    nodeId: randomUUID(),
    log,
  });
  await fabric.flush();
  t.after(async () => {
    await leader.close();
    await fabric.close();
  });
  return { done, leader };
}

test("one node compares for all, at the request of any, and the next one as soon as it stops", async (t) => {
  const first = await startNode(t);
  await until("a new leader compares", () => first.done.compared === 1);
  const second = await startNode(t);
  await until("the leader sweeps", () => first.done.swept >= 2);
  second.leader.compareSoon();
  await until("the leader compares", () => first.done.compared === 2);
  assert.deepEqual(second.done, { compared: 0, swept: 0 });
  await first.leader.close();
  await until("the other leads", () => second.done.compared === 1, 5_000);
  second.leader.compareSoon();
  await until("it compares", () => second.done.compared === 2);
  assert.equal(first.done.compared, 2);
});

test("a leader that was killed is followed once its lease has expired", async (t) => {
  const { system } = service.database;
  assert.ok(await system.first(takeLease, "presence", randomUUID(), 2), "the lease is free");
  const node = await startNode(t);
  assert.equal(node.done.compared, 0);
  await until("it leads", () => node.done.compared === 1, 8_000);
});

test("a leader that was killed while the clock was ahead is followed when the clock is set back", async (t) => {
  const { system } = service.database;
  await moveClock(service.url, 86_400);
  assert.ok(await system.first(takeLease, "presence", randomUUID(), 2), "the lease is free");
  await moveClock(service.url, 0);
  const node = await startNode(t);
  await until("it leads", () => node.done.compared === 1, 8_000);
});

test("a comparison that leaves a server in doubt is repeated soon, and not for ever", async (t) => {
  let doubts = 1;
  const node = await startNode(t, () => Promise.resolve({ isDoubtful: doubts-- > 0 }));
  await until("it compares again", () => node.done.compared === 2, 8_000);
  const { swept } = node.done;
  await until("more time has passed than a second look takes", () => node.done.swept > swept + 1);
  assert.equal(node.done.compared, 2);
});

test("a comparison that fails does not end the next one", async (t) => {
  let failures = 1;
  const node = await startNode(t, () =>
    failures-- > 0
      ? Promise.reject(new Error("No server answers."))
      : Promise.resolve({ isDoubtful: false }),
  );
  await until("it compares", () => node.done.compared === 1, 8_000);
  node.leader.compareSoon();
  await until("it compares again", () => node.done.compared === 2);
});
