// Numbered notices: a receiver finds out that some were lost.
import assert from "node:assert/strict";
import { test } from "node:test";
import { localNotices } from "@hawser/testkit/session-bed.ts";
import { createNumberedNotices } from "./notices.ts";

const subject = "org.o.changed";

/** Two nodes. `heard` contains what the second one receives, and "lost" for each gap. */
function bench({ mostSubjects = 10 } = {}) {
  const notices = localNotices();
  let losses = 0;
  const sender = createNumberedNotices({ notices, nodeId: "a", mostSubjects });
  const receiver = createNumberedNotices({ notices, nodeId: "b", countLoss: () => (losses += 1) });
  const heard: unknown[] = [];
  const subscription = receiver.subscribe(subject, {
    take: (notice) => heard.push(notice),
    lost: () => heard.push("lost"),
  });
  const lose = (count: number) => {
    notices.isDeaf = true;
    for (let i = 0; i < count; i++) sender.publish(subject, { lost: true });
    notices.isDeaf = false;
  };
  return { notices, sender, heard, subscription, lose, losses: () => losses };
}

test("the next notice of the same node shows that some were lost, once", () => {
  const { sender, heard, lose, losses } = bench();
  lose(2);
  sender.publish(subject, { n: 1 });
  sender.publish(subject, { n: 2 });
  assert.deepEqual(heard, [{ n: 1 }, { n: 2 }], "nothing was missed since the first one");
  lose(3);
  sender.publish(subject, { n: 3 });
  sender.publish(subject, { n: 4 });
  assert.deepEqual(heard.slice(2), ["lost", { n: 3 }, { n: 4 }]);
  assert.equal(losses(), 1);
});

test("notices of other subjects, other nodes and older versions are no gap", () => {
  const { notices, sender, heard, losses } = bench();
  const third = createNumberedNotices({ notices, nodeId: "c" });
  sender.publish(subject, { n: 1 });
  sender.publish("org.other.changed", {});
  third.publish("org.other.changed", {});
  third.publish(subject, { n: 2 });
  notices.publish(subject, JSON.stringify({ n: 3 }));
  sender.publish(subject, { n: 4 });
  assert.deepEqual(heard, [{ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }]);
  assert.equal(losses(), 0);
});

test("a subject whose number was forgotten never hides a loss", () => {
  const { sender, heard, lose } = bench({ mostSubjects: 2 });
  for (let n = 1; n <= 3; n++) sender.publish(subject, { n });
  for (const other of ["x", "y"]) sender.publish(other, {});
  lose(1);
  sender.publish(subject, { n: 4 });
  assert.deepEqual(heard.slice(3), ["lost", { n: 4 }]);
});

test("a position beyond the last notice shows a loss, also if nothing has ever arrived", () => {
  const { sender, heard, subscription, lose } = bench();
  const position = (number: number, sentAgoMs = 0) => ({ nodeId: "a", number, sentAgoMs });
  assert.equal(subscription.lacks(position(7, 60_000)), false, "sent before the subscription");
  assert.equal(subscription.lacks(position(7)), true);
  sender.publish(subject, {});
  assert.equal(subscription.lacks(position(1)), false);
  lose(1);
  assert.equal(subscription.lacks(position(2)), true);
  subscription.giveUp(position(2));
  assert.equal(heard.at(-1), "lost");
  assert.equal(subscription.lacks(position(2)), false);
  sender.publish(subject, { n: 3 });
  assert.deepEqual(heard.slice(1), ["lost", { n: 3 }], "reported once");
});

test("a node knows which of its own notices were sent before it subscribed, however late they are written", () => {
  const notices = localNotices();
  const node = createNumberedNotices({ notices, nodeId: "a" });
  node.publish("org.other.changed", {});
  for (let n = 1; n <= 3; n++) node.publish(subject, { n });
  const heard: unknown[] = [];
  const receiver = { take: () => heard.push("notice"), lost: () => heard.push("lost") };
  const subscription = node.subscribe(subject, receiver);
  const position = (number: number) => ({ nodeId: "a", number, sentAgoMs: 0 });
  assert.equal(subscription.lacks(position(4)), false, "sent before the subscription");
  notices.isDeaf = true;
  node.publish(subject, {});
  notices.isDeaf = false;
  assert.equal(subscription.lacks(position(5)), true, "lost since then");
  subscription.restart();
  assert.equal(subscription.lacks(position(5)), false);
  node.publish(subject, {});
  const fresh = node.subscribe("org.new.changed", receiver);
  node.publish("org.new.changed", {});
  assert.deepEqual(heard, ["notice", "notice"]);
  fresh.unsubscribe();
});

test("a receiver that reads everything again has lost nothing before that", () => {
  const { sender, heard, subscription, lose } = bench();
  sender.publish(subject, { n: 1 });
  lose(5);
  subscription.restart();
  assert.equal(subscription.lacks({ nodeId: "a", number: 6, sentAgoMs: 10 }), false);
  sender.publish(subject, { n: 7 });
  assert.deepEqual(heard, [{ n: 1 }, { n: 7 }]);
});

test("without the fabric nothing waits for a subscription", async () => {
  const notices = { ...localNotices(), flush: () => new Promise<void>(() => {}) };
  const startedAt = performance.now();
  await createNumberedNotices({ notices, nodeId: "a" }).settled();
  assert.ok(performance.now() - startedAt < 2_000);
});
