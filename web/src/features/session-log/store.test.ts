import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { recordings } from "../../../tests/recordings.ts";
import type { SessionViewOptions } from "../../streams/view.ts";
import type { Entry } from "./row.ts";
import { rowsOf } from "./rows.ts";
import { createSessionLog, type LogSource } from "./store.ts";

const made = (seq: number): Entry => ({
  seq,
  at: "2026-11-15T10:00:00.000Z",
  turnId: "t",
  update: {
    sessionUpdate: "agent_message_chunk",
    messageId: `m${seq}`,
    content: { type: "text", text: `text ${seq}` },
    parentToolCallId: null,
  },
});

/** A service with these entries. Frames are drawn when the test says so. */
function service(entries: readonly Entry[], { most = 200 } = {}) {
  const reads: number[][] = [];
  let view:
    | Pick<SessionViewOptions, "after" | "onEntry" | "onLive" | "onOpen" | "onState">
    | undefined;
  let draw: (() => void) | undefined;
  let draws = 0;
  let now = 1_000_000;
  const lastSeq = entries.at(-1)?.seq ?? 0;
  const source: LogSource = {
    readLast: async (limit) => ({ events: entries.slice(-Math.min(limit, most)), lastSeq }),
    async readAfter(after, limit) {
      reads.push([after, limit]);
      const start = after - (entries[0]!.seq - 1);
      return { events: entries.slice(start, start + Math.min(limit, most)), lastSeq };
    },
    follow: (options) => {
      view = options;
      return new Promise((resolve) => options.signal.addEventListener("abort", () => resolve()));
    },
    onFrame(next) {
      draws++;
      draw = next;
    },
    later: () => {},
    now: () => now,
  };
  const log = createSessionLog(source);
  return {
    log,
    reads,
    view: () => view!,
    frame: () => draw?.(),
    drawn: () => draws,
    pass: (ms: number) => (now += ms),
    opened: async () => {
      log.start();
      await until(() => view !== undefined);
    },
  };
}

async function until(test: () => boolean): Promise<void> {
  while (!test()) await new Promise((resolve) => setImmediate(resolve));
}

test("it opens with the newest page and follows after it", async () => {
  const { log, opened, view } = service(Array.from({ length: 1_000 }, (_, at) => made(at + 1)));
  assert.equal(log.get().phase, "loading");
  await opened();
  const { phase, rows, hasOlder, state } = log.get();
  assert.deepEqual([phase, rows.length, hasOlder, state.lastSeq], ["ready", 200, true, 1_000]);
  assert.equal(view().after, 1_000);
});

test("4.1 Transcript: older pages are read by number, without a gap and without a repeat, also if they come in parts", async () => {
  const entries = Array.from({ length: 470 }, (_, at) => made(at + 1));
  const { log, opened, reads } = service(entries, { most: 150 });
  await opened();
  await log.loadOlder();
  assert.deepEqual(reads, [
    [120, 200],
    [270, 50],
  ]);
  await log.loadBackTo(1);
  assert.deepEqual(log.get().rows, rowsOf(entries));
  assert.equal(log.get().hasOlder, false);
  await log.loadOlder();
});

test("any page size gives the same rows as the whole log", async () => {
  for (const { entries } of recordings) {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), async (most) => {
        const { log, opened } = service(entries, { most });
        await opened();
        await log.loadBackTo(1);
        assert.deepEqual(log.get().rows, rowsOf(entries));
      }),
      { numRuns: 12 },
    );
  }
});

test("4.1 Streaming: a hundred changes within a frame are drawn once", async () => {
  const { log, opened, view, frame, drawn } = service([made(1)]);
  await opened();
  frame();
  let told = 0;
  log.subscribe(() => told++);
  const before = drawn();
  for (let seq = 2; seq <= 101; seq++) view().onEntry(made(seq));
  assert.equal(drawn() - before, 1);
  frame();
  assert.equal(told, 1);
  assert.equal(log.get().rows.length, 101);
});

test("live text stays when an older page arrives", async () => {
  const { log, opened, view } = service(Array.from({ length: 300 }, (_, at) => made(at + 1)));
  await opened();
  const live = { itemId: "open", turnId: "t", kind: "message" };
  view().onLive({ ...live, text: "Hello", offset: 0 });
  view().onLive({ ...live, text: ", you", offset: 5 });
  await log.loadOlder();
  const last = log.get().rows.at(-1)!;
  assert.ok(last.is === "prose" && last.isOpen && last.text === "Hello, you");
});

test("5 Healed: after a break the entries that were missed are counted, with the time of the break", async () => {
  const { log, opened, view, pass } = service([made(1)]);
  await opened();
  view().onState({ is: "live" });
  view().onState({ is: "connecting", since: 900_000 });
  view().onOpen!(true);
  view().onState({ is: "live" });
  for (const seq of [2, 3, 4]) view().onEntry(made(seq));
  assert.equal(log.get().caughtUp, undefined, "not before it is complete");
  pass(2_000);
  view().onEntry(made(5));
  assert.deepEqual(log.get().caughtUp, { count: 3, from: 900_000, to: 1_000_000 });
});

test("a session that is left and opened again goes on after its last entry", async () => {
  const { log, opened, view } = service([made(1)]);
  await opened();
  view().onEntry(made(2));
  log.stop();
  log.start();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(view().after, 2);
});

test("a log that cannot be read says so, and is read when it is started again", async () => {
  const failing = service([made(1)]);
  const failure = new Error("no answer");
  let fails = true;
  const log = createSessionLog({
    readLast: () =>
      fails ? Promise.reject(failure) : Promise.resolve({ events: [made(1)], lastSeq: 1 }),
    readAfter: () => Promise.reject(failure),
    follow: () => Promise.resolve(),
    onFrame: () => {},
    later: () => {},
    now: Date.now,
  });
  log.start();
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([log.get().phase, log.get().error], ["failed", failure]);
  fails = false;
  log.stop();
  log.start();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(log.get().phase, "ready");
  failing.log.stop();
});
