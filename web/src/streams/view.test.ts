import assert from "node:assert/strict";
import { test } from "node:test";
import { startEventServer } from "../../tests/event-server.ts";
import { createPageEvents } from "../../tests/page-events.ts";
import type { ConnectionState } from "./connection.ts";
import { followView } from "./view.ts";

async function viewing(after = 0) {
  const server = await startEventServer();
  const page = createPageEvents();
  const stop = new AbortController();
  const seqs: number[] = [];
  const opened: boolean[] = [];
  const gaps: number[][] = [];
  const lives: string[] = [];
  const records: unknown[] = [];
  const states: ConnectionState[] = [];
  const over = followView({
    url: `${server.url}/api/sessions/ses_1/events`,
    headers: () => ({}),
    after,
    onEntry: ({ seq }) => seqs.push(seq),
    onLive: ({ text }) => lives.push(text),
    onRecord: (record) => records.push(record),
    onOpen: (isAgain) => opened.push(isAgain),
    onState: (state) => states.push(state),
    onGap: (expected, got) => gaps.push([expected, got]),
    document: page.document,
    watchWake: page.watchWake,
    now: page.now,
    hiddenMs: 50,
    pauseMs: () => 5,
    signal: stop.signal,
  });
  const untilSeq = async (seq: number) => {
    while (seqs.at(-1) !== seq) await new Promise((resolve) => setTimeout(resolve, 5));
  };
  return {
    ...server,
    page,
    seqs,
    opened,
    gaps,
    lives,
    records,
    states,
    over,
    untilSeq,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await over;
      await server[Symbol.asyncDispose]();
    },
  };
}

test("a cut view goes on after the last entry, and a repeated entry is dropped", async () => {
  await using view = await viewing(3);
  const first = await view.stream(1);
  assert.equal(first.path, "/api/sessions/ses_1/events?after=3");
  assert.equal(first.headers["last-event-id"], undefined);
  first.entry(4);
  first.entry(5);
  await view.untilSeq(5);
  first.cut();
  const second = await view.stream(2);
  assert.equal(second.path, "/api/sessions/ses_1/events?after=5");
  assert.equal(second.headers["last-event-id"], "5");
  second.entry(5);
  second.entry(6);
  await view.untilSeq(6);
  assert.deepEqual(view.seqs, [4, 5, 6]);
  assert.deepEqual(view.opened, [false, true]);
});

test("an entry after a gap is reported, and read again from the last good one", async () => {
  await using view = await viewing();
  const first = await view.stream(1);
  first.entry(1);
  first.entry(3);
  const second = await view.stream(2);
  assert.equal(second.headers["last-event-id"], "1");
  second.entry(2);
  second.entry(3);
  await view.untilSeq(3);
  assert.deepEqual([view.seqs, view.gaps], [[1, 2, 3], [[2, 3]]]);
});

test("5 Resync of the view: it has ended, and connects again with the last seq", async () => {
  await using view = await viewing();
  const first = await view.stream(1);
  first.entry(1);
  first.write("event: resync\ndata: {}\n\n");
  const second = await view.stream(2);
  assert.equal(second.headers["last-event-id"], "1");
});

test("record and live are delivered", async () => {
  await using view = await viewing();
  const first = await view.stream(1);
  first.write('event: record\ndata: {"status":"active"}\n\n');
  first.write('event: live\ndata: {"itemId":"m","kind":"message","text":"a","offset":0}\n\n');
  first.entry(1);
  await view.untilSeq(1);
  assert.deepEqual([view.records, view.lives], [[{ status: "active" }], ["a"]]);
});

test("5 Tab hidden: a tab that is hidden for a minute closes its view, and goes on from its position", async () => {
  await using view = await viewing();
  const first = await view.stream(1);
  first.entry(1);
  await view.untilSeq(1);
  view.page.show("hidden");
  while (first.isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(view.streams.length, 1, "nothing is read while it is hidden");
  view.page.show("visible");
  assert.equal((await view.stream(2)).headers["last-event-id"], "1");
});

test("a tab that is hidden for a moment keeps its view", async () => {
  await using view = await viewing();
  const first = await view.stream(1);
  first.entry(1);
  await view.untilSeq(1);
  view.page.show("hidden");
  view.page.show("visible");
  await new Promise((resolve) => setTimeout(resolve, 120));
  assert.ok(first.isOpen());
});

test("a session that is gone ends the view", async () => {
  await using view = await viewing();
  (await view.stream(1)).refuse(404, { code: "not_found" });
  await view.over;
  assert.deepEqual(view.states.at(-1), { is: "refused", status: 404, code: "not_found" });
});
