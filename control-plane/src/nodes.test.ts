// The set of nodes: each beat finds which nodes have left and which have died since the last one.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { moveClock } from "@hawser/testkit/clock.ts";
import { ownerSql } from "@hawser/testkit/owner-sql.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { joinNodes } from "./nodes.ts";

let service: ServiceDatabase;
let ahead = 0;
before(async () => void (service = await openServiceDatabase()));
beforeEach(() => ownerSql(service.url, `DELETE FROM nodes`));
after(() => service[Symbol.asyncDispose]());

const join = () => joinNodes(service.database.system);
const wait = (seconds: number) => moveClock(service.url, (ahead += seconds));
const quiet = { left: [], died: [], isDatabaseReplaced: false };

test("a node's time is the database's, whatever the clock of its machine shows", async () => {
  const node = await join();
  const differs = (seconds: number) => {
    const error = node.now() - (Date.now() + seconds * 1000);
    assert.ok(Number.isInteger(node.now()));
    assert.ok(Math.abs(error) < 5_000, `${error} ms from what is expected`);
  };
  differs(ahead);
  await wait(3_600);
  differs(ahead - 3_600);
  await node.beat();
  differs(ahead);
});

test("nodes that are alive are counted", async () => {
  const [one, two] = [await join(), await join()];
  assert.deepEqual(await one.beat(), { live: 2, ...quiet });
  await two.beat();
  const three = await join();
  assert.deepEqual(await one.beat(), { live: 3, ...quiet });
  assert.deepEqual(await three.beat(), { live: 3, ...quiet });
});

test("a node that leaves and one that dies are told apart, each once", async () => {
  const [one, two, three] = [await join(), await join(), await join()];
  await one.beat();
  await two.leave();
  assert.deepEqual(await one.beat(), { live: 2, ...quiet, left: [two.nodeId] });
  await wait(13);
  assert.deepEqual(await one.beat(), { live: 1, ...quiet, died: [three.nodeId] });
  for (const seconds of [5, 60, 5]) {
    await wait(seconds);
    assert.deepEqual(await one.beat(), { live: 1, ...quiet });
  }
});

test("a node that dies while another joins is noticed, although their number stays the same", async () => {
  const [one, two] = [await join(), await join()];
  await one.beat();
  await wait(13);
  const three = await join();
  assert.deepEqual(await one.beat(), { live: 2, ...quiet, died: [two.nodeId] });
  assert.deepEqual(await three.beat(), { live: 2, ...quiet, died: [two.nodeId] });
});

test("a node that joins and dies between two beats is noticed", async () => {
  const one = await join();
  await one.beat();
  const brief = await join();
  await wait(13);
  assert.deepEqual(await one.beat(), { live: 1, ...quiet, died: [brief.nodeId] });
});

test("a node that was frozen is alive again, and may die again", async () => {
  const [one, two] = [await join(), await join()];
  await one.beat();
  await wait(13);
  assert.deepEqual((await one.beat()).died, [two.nodeId]);
  assert.deepEqual((await two.beat()).died, [], "the first one beats");
  assert.equal((await one.beat()).live, 2);
  await wait(13);
  assert.deepEqual((await one.beat()).died, [two.nodeId]);
});

test("a node that died while the clock was ahead is noticed when the clock is set back", async () => {
  const [one, two] = [await join(), await join()];
  await wait(86_400);
  await two.beat();
  assert.equal((await one.beat()).live, 2);
  await wait(-86_400);
  assert.deepEqual(await one.beat(), { live: 1, ...quiet, died: [two.nodeId] });
  assert.deepEqual(await one.beat(), { live: 1, ...quiet });
});

test("a node without the database for long counts those as dead that it does not find again", async () => {
  const [one, two] = [await join(), await join()];
  await one.beat();
  await ownerSql(service.url, `DELETE FROM nodes`);
  assert.deepEqual(await one.beat(), { live: 1, ...quiet, died: [two.nodeId] });
  assert.deepEqual(await one.beat(), { live: 1, ...quiet });
});
