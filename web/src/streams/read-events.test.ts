import assert from "node:assert/strict";
import { test } from "node:test";
import { startEventServer } from "../../tests/event-server.ts";
import { frameParser, readEvents, type StreamFrame } from "./read-events.ts";

async function opened(options: { silenceMs?: number; lastEventId?: string } = {}) {
  const server = await startEventServer();
  const stop = new AbortController();
  const frames: StreamFrame[] = [];
  const seen = { opened: 0, alive: 0 };
  const end = readEvents({
    url: `${server.url}/api/events`,
    headers: { "x-hawser-organization": "org_1" },
    ...options,
    onOpen: () => seen.opened++,
    onAlive: () => seen.alive++,
    onFrame: (frame) => frames.push(frame),
    signal: stop.signal,
  });
  return {
    stream: await server.stream(1),
    frames,
    seen,
    end,
    stop,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

test("frames are delivered in order, with their event, data and id", async () => {
  await using reader = await opened();
  reader.stream.write("retry: 1000\n\nid: 7\nevent: entry\ndata: {}\n\nevent: live\ndata: x\n\n");
  reader.stream.end();
  assert.deepEqual(await reader.end, { why: "ended" });
  assert.deepEqual(reader.frames, [
    { event: "entry", data: "{}", id: "7" },
    { event: "live", data: "x", id: undefined },
  ]);
});

test("the request names the organization and the position to continue after", async () => {
  await using reader = await opened({ lastEventId: "41" });
  reader.stream.end();
  const { headers } = reader.stream;
  assert.deepEqual(
    [headers["x-hawser-organization"], headers["last-event-id"], headers.accept],
    ["org_1", "41", "text/event-stream"],
  );
  await reader.end;
});

for (const [status, error] of [
  [401, { code: "unauthenticated" }],
  [403, { code: "forbidden" }],
  [404, { code: "not_found" }],
  [429, { code: "concurrency_limited", retryAfterMs: 250 }],
] as const) {
  test(`a refusal with ${status} is not mistaken for a broken connection`, async () => {
    await using reader = await opened();
    reader.stream.refuse(status, error);
    assert.deepEqual(await reader.end, {
      why: "refused",
      status,
      code: error.code,
      retryAfterMs: "retryAfterMs" in error ? error.retryAfterMs : undefined,
    });
    assert.equal(reader.seen.opened, 0);
  });
}

test("an answer of a balancer, of a page instead of a stream, and a cut line are broken", async () => {
  for (const break_ of ["balancer", "page", "cut"] as const) {
    await using reader = await opened();
    if (break_ === "balancer") reader.stream.refuse(502);
    if (break_ === "page") reader.stream.refuse(200);
    if (break_ === "cut") {
      reader.stream.write("event: live\ndata: x\n\n");
      reader.stream.cut();
    }
    assert.deepEqual(await reader.end, { why: "broken" }, break_);
  }
});

test("comments show that the line is alive, and silence ends it", async () => {
  await using reader = await opened({ silenceMs: 150 });
  const alive = setInterval(() => reader.stream.write(": alive\n\n"), 40);
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.ok(reader.stream.isOpen(), "alive comments keep it open");
  clearInterval(alive);
  assert.deepEqual(await reader.end, { why: "broken" });
  assert.ok(reader.seen.alive >= 3);
  assert.deepEqual(reader.frames, []);
});

test("a service that accepts the connection and never answers counts as broken too", async () => {
  await using reader = await opened({ silenceMs: 100 });
  assert.deepEqual(await reader.end, { why: "broken" });
});

test("a stopped reader closes its connection", async () => {
  await using reader = await opened();
  reader.stream.write(": alive\n\n");
  reader.stop.abort();
  assert.deepEqual(await reader.end, { why: "stopped" });
  while (reader.stream.isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
});

test("no cut of the text into pieces changes the frames", () => {
  const text =
    ': alive\n\nid: 1\nevent: entry\ndata: {"a":"é\u{1F600}"}\n\r\nevent: live\ndata: one\ndata: two\n\nevent: none\n\n';
  const whole: StreamFrame[] = [];
  frameParser((frame) => whole.push(frame))(text);
  assert.equal(whole.length, 2);
  for (let first = 0; first <= text.length; first++) {
    for (let second = first; second <= text.length; second += 7) {
      const pieces: StreamFrame[] = [];
      const parse = frameParser((frame) => pieces.push(frame));
      for (const piece of [text.slice(0, first), text.slice(first, second), text.slice(second)]) {
        parse(piece);
      }
      assert.deepEqual(pieces, whole);
    }
  }
});
