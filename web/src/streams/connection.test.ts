import assert from "node:assert/strict";
import { test } from "node:test";
import { startEventServer } from "../../tests/event-server.ts";
import { createPageEvents } from "../../tests/page-events.ts";
import {
  jitteredPause,
  keepConnected,
  type ConnectionState,
  type KeepConnected,
} from "./connection.ts";

async function connected(options: Partial<KeepConnected> = {}) {
  const server = await startEventServer();
  const page = createPageEvents();
  const stop = new AbortController();
  const states: ConnectionState[] = [];
  const pauses: number[] = [];
  const over = keepConnected({
    target: () => ({ url: `${server.url}/api/events` }),
    onFrame: () => {},
    onState: (state) => states.push(state),
    watchWake: page.watchWake,
    now: page.now,
    signal: stop.signal,
    pauseMs(failures) {
      pauses.push(failures);
      return 10;
    },
    ...options,
  });
  return {
    ...server,
    page,
    states,
    pauses,
    over,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
      await server[Symbol.asyncDispose]();
    },
  };
}

const longPause = { pauseMs: () => 60_000 };

test("5 Stream reconnecting: it connects again after each break, with growing pauses, for ever", async () => {
  await using connection = await connected();
  for (let number = 1; number <= 8; number++) {
    const stream = await connection.stream(number);
    if (number % 2 === 1) stream.write(": alive\n\n");
    stream.cut();
  }
  await connection.stream(9);
  assert.deepEqual(connection.pauses.slice(0, 8), [1, 2, 3, 4, 5, 6, 7, 8]);
});

test("pauses are 1, 2, 4, 8 and 15 seconds with full jitter", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 60].map((failures) => jitteredPause(failures, () => 1)),
    [1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000],
  );
  assert.equal(
    jitteredPause(5, () => 0),
    0,
  );
});

test("after a connection that lasted the first pause is short again", async () => {
  await using connection = await connected();
  (await connection.stream(1)).cut();
  const second = await connection.stream(2);
  second.write(": alive\n\n");
  await untilLive(connection.states);
  connection.page.sleep(6_000);
  second.cut();
  await connection.stream(3);
  assert.deepEqual(connection.pauses, [1, 1]);
});

test("401, 403 and 404 end it and are reported; 429 waits as long as the service says", async () => {
  for (const status of [401, 403, 404]) {
    await using connection = await connected();
    (await connection.stream(1)).refuse(status, { code: "word" });
    await connection.over;
    assert.deepEqual(connection.states.at(-1), { is: "refused", status, code: "word" });
  }
  await using connection = await connected();
  const askedAt = performance.now();
  (await connection.stream(1)).refuse(429, { code: "rate_limited", retryAfterMs: 200 });
  await connection.stream(2);
  assert.ok(performance.now() - askedAt >= 190);
});

for (const name of ["online", "pageshow", "focus"]) {
  test(`"${name}" ends the pause at once`, async () => {
    await using connection = await connected(longPause);
    const stream = await connection.stream(1);
    stream.cut();
    await untilPaused(connection.states);
    connection.page.fire(name);
    await connection.stream(2);
  });
}

test("5 Stream reconnecting: a page that becomes visible ends the pause at once", async () => {
  await using connection = await connected(longPause);
  connection.page.show("hidden");
  (await connection.stream(1)).cut();
  await untilPaused(connection.states);
  connection.page.show("visible");
  await connection.stream(2);
});

test("a machine that slept connects again at once, without waiting for the dead socket", async () => {
  await using connection = await connected(longPause);
  const dead = await connection.stream(1);
  dead.write(": alive\n\n");
  await untilLive(connection.states);
  connection.page.sleep(600_000);
  await connection.stream(2);
});

test("focus leaves a connection that works alone", async () => {
  await using connection = await connected(longPause);
  const stream = await connection.stream(1);
  stream.write(": alive\n\n");
  await untilLive(connection.states);
  // Older than a connection that a wake-up has just made, younger than a sleep.
  connection.page.sleep(5_000);
  connection.page.fire("focus");
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.ok(stream.isOpen());
  assert.equal(connection.streams.length, 1);
});

test("a frame can ask to connect again, and later frames of that connection are not delivered", async () => {
  const seen: string[] = [];
  await using connection = await connected({
    onFrame({ event }) {
      seen.push(event);
      return event === "resync" ? "again" : undefined;
    },
  });
  (await connection.stream(1)).write("event: resync\ndata: {}\n\nevent: late\ndata: {}\n\n");
  (await connection.stream(2)).write("event: first\ndata: {}\n\n");
  while (!seen.includes("first")) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(seen, ["resync", "first"]);
  assert.deepEqual(connection.pauses, []);
});

test("a service that always asks to connect again does not make a storm", async () => {
  await using connection = await connected({ onFrame: () => "again" });
  for (let number = 1; number <= 4; number++) {
    (await connection.stream(number)).write("event: resync\ndata: {}\n\n");
  }
  assert.ok(connection.pauses.length > 0);
});

test("the state says when the stream last showed that it works", async () => {
  await using connection = await connected(longPause);
  assert.deepEqual(connection.states, [{ is: "connecting", since: undefined }]);
  const stream = await connection.stream(1);
  stream.write(": alive\n\n");
  await untilLive(connection.states);
  const before = Date.now();
  stream.cut();
  await untilPaused(connection.states);
  const last = connection.states.at(-1) as { since: number };
  assert.ok(Math.abs(last.since - before) < 1_000);
});

const untilLive = (states: ConnectionState[]) => untilState(states, "live");
const untilPaused = (states: ConnectionState[]) => untilState(states, "connecting", 2);

async function untilState(states: ConnectionState[], is: string, least = 1) {
  while (states.at(-1)?.is !== is || states.length < least) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
