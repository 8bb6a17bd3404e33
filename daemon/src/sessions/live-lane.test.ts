// Live text beside the log: published only while somebody watches, at once and then paced, without gaps.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveText } from "@hawser/host-protocol";
import { createLiveLane } from "./live-lane.ts";

function openWorld() {
  const clock = { time: 0 };
  const published: LiveText[] = [];
  const lane = createLiveLane(
    (_sessionId, text) => published.push(text),
    () => clock.time,
  );
  const say = (offset: number, text: string, itemId = "one") =>
    lane.text("ses", "trn", { itemId, kind: "message", offset, text });
  return { clock, published, lane, say };
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

test("without viewers nothing is published; a new viewer gets the text written so far", async () => {
  const { published, lane, say, clock } = openWorld();
  say(0, "Hello ");
  assert.deepEqual(published, []);
  const open = lane.watch("ses");
  assert.deepEqual(open, [{ itemId: "one", turnId: "trn", kind: "message", text: "Hello " }]);
  say(6, "world");
  assert.deepEqual(
    published.map(({ offset, text }) => ({ offset, text })),
    [{ offset: 6, text: "world" }],
  );
  await wait(60);
  clock.time = 31_000;
  say(11, "!");
  assert.equal(published.length, 1, "the lease is over");
  assert.equal(lane.watch("ses")[0]!.text, "Hello world!");
});

test("the first words go at once, the rest at most every 50 ms for each message", async () => {
  const { published, lane, say } = openWorld();
  lane.watch("ses");
  for (let offset = 0; offset < 10; offset++) say(offset, "x");
  say(0, "y", "two");
  assert.deepEqual(
    published.map(({ itemId, offset, text }) => [itemId, offset, text]),
    [
      ["one", 0, "x"],
      ["two", 0, "y"],
    ],
  );
  await wait(80);
  assert.deepEqual(
    published.slice(2).map(({ itemId, offset, text }) => [itemId, offset, text]),
    [["one", 1, "xxxxxxxxx"]],
  );
});

test("changed text is sent again from where it changed, text behind a gap is not, and logged text is dropped", async () => {
  const { published, lane, say } = openWorld();
  lane.watch("ses");
  say(0, "abc");
  say(5, "late");
  say(1, "BC");
  await wait(80);
  assert.deepEqual(
    published.map(({ offset, text }) => [offset, text]),
    [
      [0, "abc"],
      [1, "BC"],
    ],
  );
  lane.finish("ses", "one");
  assert.deepEqual(lane.watch("ses"), []);
  say(0, "more", "two");
  lane.clear("ses");
  assert.deepEqual(lane.watch("ses"), []);
});
