// When viewers are compared with the database, and which nodes take part.
import assert from "node:assert/strict";
import { test } from "node:test";
import { localNotices } from "@hawser/testkit/session-bed.ts";
import { until } from "@hawser/testkit/until.ts";
import { createLog } from "../log.ts";
import { syncViewers } from "./viewer-sync.ts";

/** Nodes that record what they do for their viewers. */
function bench() {
  const messages = localNotices();
  const addNode = (nodeId: string) => {
    const done: string[] = [];
    const note = (what: string) => {
      done.push(what);
      return Promise.resolve();
    };
    const sync = syncViewers({
      messages,
      notices: { nodeId, settled: () => note("settled") },
      feed: {
        compare: () => note("compare organizations"),
        flush: () => note("write positions"),
        resync: () => void note("resync"),
      },
      follows: { compare: () => note("compare sessions") },
      log: createLog("silent"),
    });
    return { done, sync };
  };
  return { messages, addNode };
}

const resynced = ["resync", "settled", "compare sessions"];

test("a node that was cut off resyncs its own viewers, and makes the others compare", async (t) => {
  const { addNode } = bench();
  const [one, two] = [addNode("one"), addNode("two")];
  t.after(() => [one, two].forEach(({ sync }) => sync.close()));
  one.sync.reconnected();
  await until("the other compares", () => two.done.length === 2);
  assert.deepEqual(two.done, ["compare sessions", "compare organizations"]);
  assert.deepEqual(one.done.toSorted(), [...resynced, "write positions"].toSorted());
});

test("a replaced database makes the viewers of every node read everything again, once", async (t) => {
  const { addNode } = bench();
  const nodes = [addNode("one"), addNode("two"), addNode("three")];
  t.after(() => nodes.forEach(({ sync }) => sync.close()));
  nodes[0]!.sync.resyncEveryNode();
  await until("all compare", () => nodes.every(({ done }) => done.length === 3));
  for (const { done } of nodes) assert.deepEqual(done, resynced);
});

test("without any message every node compares within three seconds", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const { messages, addNode } = bench();
  messages.isDeaf = true;
  const { done, sync } = addNode("one");
  t.after(() => sync.close());
  t.mock.timers.tick(1_000);
  assert.deepEqual(done, ["write positions"]);
  t.mock.timers.tick(2_000);
  assert.deepEqual(done.slice(1).toSorted(), [
    "compare organizations",
    "compare sessions",
    "write positions",
    "write positions",
  ]);
});
