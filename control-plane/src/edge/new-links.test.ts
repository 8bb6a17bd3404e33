// How many links an edge opens, and when refused hosts return, by a clock that the test moves.
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { createNewLinks, type NewLinks } from "./new-links.ts";
import { createRecentMost } from "./recent-most.ts";

let at = 0;
let links: NewLinks;

beforeEach(() => {
  at = 1_000_000;
  links = createNewLinks(100, () => at);
});

/** Opens links until there is no room, each in no time, and returns how many. */
function openAll(): number {
  let count = 0;
  for (; links.hasRoom(); count++) links.begin()(true);
  return count;
}

test("an edge opens a second's worth of links at once, and then as many a second", () => {
  assert.equal(openAll(), 100);
  at += 500;
  assert.equal(openAll(), 50);
  at += 60_000;
  assert.equal(openAll(), 100);
});

test("a request that is not admitted uses nothing up", () => {
  for (let request = 0; request < 1_000; request++) assert.ok(links.hasRoom());
  assert.equal(openAll(), 100);
});

test("hosts that open links all the time get all the room that others leave, and no more", () => {
  const openRepeated = () => {
    let count = 0;
    for (; links.hasRoom({ isRepeated: true }); count++) links.begin()(true);
    return count;
  };
  assert.equal(openRepeated(), 50);
  at += 1_000;
  assert.equal(openRepeated(), 50);
  at += 500;
  assert.equal(openRepeated(), 50, "as many a second as without others");
  assert.equal(openAll(), 50, "a host that returns once finds room");
  at += 250;
  assert.equal(openRepeated(), 0);
  links = createNewLinks(1, () => at);
  assert.equal(openRepeated(), 1, "at any limit they find room in the end");
});

test("refused hosts get times at which the edge can link them, one after the other", () => {
  openAll();
  const seconds = Array.from({ length: 1_000 }, () => links.retryAfterSeconds());
  assert.deepEqual([seconds[0], seconds.at(-1)], [1, 10]);
  for (let second = 1; second <= 10; second++) {
    const count = seconds.filter((each) => each === second).length;
    assert.ok(Math.abs(count - 100) <= 1, `${count} hosts in second ${second}`);
  }
  at += 10_000;
  assert.equal(links.retryAfterSeconds(), 1, "these hosts have returned");
});

test("the wait is at most a minute, and hosts that get the longest one do not return together", () => {
  const seconds = Array.from({ length: 100_000 }, () => links.retryAfterSeconds());
  assert.equal(Math.max(...seconds), 60);
  const late = seconds.slice(10_000);
  assert.ok(Math.min(...late) >= 30);
  assert.ok(new Set(late).size >= 30);
});

test("an edge that is too slow has no room, and its rate is what it reaches", () => {
  const opening: ((isOpen: boolean) => void)[] = [];
  const dial = () => {
    if (links.hasRoom()) opening.push(links.begin());
  };
  assert.equal(links.rate(), 100);
  // Each second 100 hosts dial, and 40 links are opened.
  for (let tick = 0; tick < 200; tick++) {
    at += 50;
    for (let host = 0; host < 5; host++) dial();
    for (const done of opening.splice(0, 2)) done(true);
  }
  assert.ok(opening.length <= 100, "a second's worth at most is being opened");
  assert.ok(Math.abs(links.rate() - 40) < 5, `${links.rate()} a second`);
  at += 3_600_000;
  assert.equal(links.rate(), 100, "the measurement is too old");
});

test("a NATS server that does not answer does not count as a slow edge", () => {
  const opening: ((isOpen: boolean) => void)[] = [];
  for (let tick = 0; tick < 200; tick++) {
    at += 50;
    for (let host = 0; host < 5; host++) if (links.hasRoom()) opening.push(links.begin());
    for (const done of opening.splice(0, 2)) done(false);
  }
  assert.equal(links.rate(), 100);
});

test("the largest number of links is remembered for five to ten minutes", () => {
  const most = createRecentMost(300_000, () => at);
  assert.equal(most(10), 10);
  assert.equal(most(1_000), 1_000);
  at += 86_400_000;
  assert.equal(most(0), 1_000, "there were so many until now");
  at += 299_000;
  assert.equal(most(20), 1_000);
  at += 301_000;
  assert.equal(most(15), 20);
});

test("a wait of a second is one second at any time of the clock", () => {
  const seconds = Array.from({ length: 1_000 }, (_, index) => {
    const refusing = createNewLinks(1, () => 900 + index * 0.1037);
    return refusing.retryAfterSeconds();
  });
  assert.deepEqual([...new Set(seconds)], [1]);
});
