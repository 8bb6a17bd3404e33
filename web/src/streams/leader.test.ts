import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { startEventServer } from "../../tests/event-server.ts";
import { createPageEvents } from "../../tests/page-events.ts";
import type { ConnectionState } from "./connection.ts";
import type { FeedEvent } from "./feed.ts";
import { followFeed } from "./follow-feed.ts";

/** A tab of a browser: Node has the same locks and channels. */
function openTab(url: string, name: string, locks: LockManager | undefined = navigator.locks) {
  const page = createPageEvents();
  const stop = new AbortController();
  const events: FeedEvent[] = [];
  const states: ConnectionState[] = [];
  const over = followFeed({
    url: `${url}/api/events`,
    headers: () => ({}),
    name,
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    locks,
    openChannel: (channel) => new BroadcastChannel(channel),
    watchWake: page.watchWake,
    now: page.now,
    pauseMs: () => 5,
    signal: stop.signal,
  });
  return {
    events,
    states,
    until: async (test: () => boolean) => {
      while (!test()) await new Promise((resolve) => setTimeout(resolve, 5));
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
    },
  };
}

const change = 'event: changed\ndata: {"type":"changed","record":"session","id":"ses_1"}\n\n';
const isChange = (event: FeedEvent) => event.type === "changed";
const isLive = ({ is }: ConnectionState) => is === "live";

test("three tabs share one connection, and all get its events and its state", async () => {
  await using server = await startEventServer();
  const name = randomUUID();
  await using first = openTab(server.url, name);
  await using second = openTab(server.url, name);
  const stream = await server.stream(1);
  stream.write(": alive\n\n");
  await second.until(() => second.states.some(isLive));
  await using third = openTab(server.url, name);
  await third.until(() => third.states.some(isLive));
  stream.write(change);
  for (const tab of [first, second, third]) await tab.until(() => tab.events.some(isChange));
  assert.equal(server.streams.length, 1);
});

test("when the reading tab closes, another takes over and everything is read again", async () => {
  await using server = await startEventServer();
  const name = randomUUID();
  const first = openTab(server.url, name);
  const stream = await server.stream(1);
  stream.write(": alive\n\n");
  await first.until(() => first.states.some(isLive));
  await using second = openTab(server.url, name);
  await using third = openTab(server.url, name);
  await third.until(() => third.states.length > 0);
  await first[Symbol.asyncDispose]();
  const next = await server.stream(2);
  second.events.length = third.events.length = 0;
  next.write(change);
  for (const tab of [second, third]) {
    await tab.until(() => tab.events.some(isChange));
    assert.deepEqual(
      tab.events.map(({ type }) => type),
      ["resync", "changed"],
    );
  }
});

test("5 Resync of the feed: each connection begins with one, because events have no numbers", async () => {
  await using server = await startEventServer();
  await using tab = openTab(server.url, randomUUID());
  for (const number of [1, 2]) {
    const stream = await server.stream(number);
    stream.write(": alive\n\n");
    await tab.until(() => tab.events.length === number);
    stream.cut();
  }
  assert.deepEqual(tab.events, [{ type: "resync" }, { type: "resync" }]);
});

test("two organizations in one browser have a reader each", async () => {
  await using server = await startEventServer();
  await using _one = openTab(server.url, randomUUID());
  await using _other = openTab(server.url, randomUUID());
  await server.stream(2);
});

test("without locks, over http from another machine, each tab reads for itself", async () => {
  await using server = await startEventServer();
  const name = randomUUID();
  await using _one = openTab(server.url, name, null as unknown as undefined);
  await using _other = openTab(server.url, name, null as unknown as undefined);
  await server.stream(2);
});
