// The events of an organization on two nodes: however notices are lost, viewers hear that they have missed
// something; and they hear it only then.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { localNotices } from "@hawser/testkit/session-bed.ts";
import { openServiceDatabase, type ServiceDatabase } from "@hawser/testkit/service-database.ts";
import { until } from "@hawser/testkit/until.ts";
import type { SystemSql } from "../postgres/statement.ts";
import { createNumberedNotices } from "./notices.ts";
import {
  createOrganizationFeed,
  type FeedEvent,
  type OrganizationFeed,
} from "./organization-feed.ts";

let service: ServiceDatabase;
before(async () => void (service = await openServiceDatabase()));
after(() => service[Symbol.asyncDispose]());

/** Two nodes and a new organization. */
function bench() {
  const notices = localNotices();
  const organizationId = randomUUID();
  const addNode = (system: SystemSql = service.database.system) =>
    createOrganizationFeed(system, createNumberedNotices({ notices, nodeId: randomUUID() }));
  const change = (feed: OrganizationFeed, id: string, isLost = false) => {
    notices.isDeaf = isLost;
    feed.changed(organizationId, "session", id);
    notices.isDeaf = false;
  };
  const follow = (feed: OrganizationFeed) => {
    const heard: string[] = [];
    const take = (event: FeedEvent) => void heard.push("id" in event ? event.id : event.type);
    return { heard, leave: feed.follow(organizationId, take) };
  };
  return { notices, addNode, sender: addNode(), receiver: addNode(), change, follow };
}

test("every notice is lost: each comparison after a change makes viewers read everything again", async () => {
  const { sender, receiver, change, follow } = bench();
  const { heard } = follow(receiver);
  await receiver.compare();
  for (let round = 1; round <= 2; round++) {
    change(sender, "a", true);
    change(sender, "b", true);
    await sender.flush();
    await receiver.compare();
    await until("the resync", () => heard.length === round);
    await receiver.compare();
  }
  assert.deepEqual(heard, ["resync", "resync"]);
});

test("the last notice is lost: the comparison finds it although earlier ones arrived", async () => {
  const { sender, receiver, change, follow } = bench();
  const { heard } = follow(receiver);
  change(sender, "a");
  change(sender, "b", true);
  await sender.flush();
  await receiver.compare();
  assert.deepEqual(heard, ["a", "resync"]);
});

test("a later notice shows the gap at once, without a comparison", () => {
  const { sender, receiver, change, follow } = bench();
  const { heard } = follow(receiver);
  change(sender, "a");
  change(sender, "b", true);
  change(sender, "c");
  assert.deepEqual(heard, ["a", "resync", "c"]);
});

test("a notice that is older than the viewer, arrives, or arrives late causes no resync", async () => {
  const { notices, sender, receiver, change, follow } = bench();
  change(sender, "before");
  await new Promise((resolve) => setTimeout(resolve, 50));
  const { heard } = follow(receiver);
  // Senders write a position up to a second after the notice.
  await sender.flush();
  await receiver.compare();
  change(sender, "a");
  await sender.flush();
  await receiver.compare();
  change(sender, "b", true);
  await sender.flush();
  const comparing = receiver.compare();
  await new Promise((resolve) => setTimeout(resolve, 100));
  const { subject, data } = notices.published.at(-1)!;
  notices.publish(subject, data);
  await comparing;
  assert.deepEqual(heard, ["a", "b"]);
});

test("viewers that read everything again are not made to do so twice", async () => {
  const { sender, receiver, change, follow } = bench();
  const { heard } = follow(receiver);
  change(sender, "a");
  change(sender, "b", true);
  await sender.flush();
  await new Promise((resolve) => setTimeout(resolve, 50));
  receiver.resync();
  await receiver.compare();
  change(sender, "c");
  assert.deepEqual(heard, ["a", "resync", "c"]);
});

test("a fabric that loses every other notice causes one resync a second, and one at the end", async () => {
  const { sender, receiver, change, follow } = bench();
  const { heard } = follow(receiver);
  const resyncs = () => heard.filter((event) => event === "resync").length;
  for (let i = 0; i < 50; i++) change(sender, "a", i % 2 === 1);
  assert.equal(resyncs(), 1);
  await until("the resync at the end", () => resyncs() === 2, 2_000);
});

test("after the last viewer has left nothing is compared, and the next one starts again", async () => {
  const { sender, receiver, change, follow } = bench();
  const first = follow(receiver);
  change(sender, "a");
  first.leave();
  change(sender, "b", true);
  await sender.flush();
  await receiver.compare();
  assert.deepEqual(first.heard, ["a"]);
  const second = follow(receiver);
  change(sender, "c");
  assert.deepEqual([first.heard, second.heard], [["a"], ["c"]]);
});

test("positions that could not be written are written next time", async () => {
  let isDown = true;
  const { system } = service.database;
  const failing: SystemSql = {
    ...system,
    rows: (...asked) => (isDown ? Promise.reject(new Error("down")) : system.rows(...asked)),
  };
  const { addNode, receiver, change, follow } = bench();
  const sender = addNode(failing);
  const { heard } = follow(receiver);
  change(sender, "a", true);
  await assert.rejects(sender.flush());
  isDown = false;
  await sender.flush();
  await receiver.compare();
  assert.deepEqual(heard, ["resync"]);
});
