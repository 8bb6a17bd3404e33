// The stream of a session: its log after a seq, its record, and text as it is written.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { liveSubject } from "@hawser/host-protocol";
import { makeKey } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { until } from "@hawser/testkit/until.ts";
import type { Hono } from "hono";
import { createLiveWatch } from "./session-log/live-watch.ts";
import { createSessionViews } from "./session-log/view.ts";
import { keysOnly } from "./transports/credentials.ts";
import { sessionStreamTransport } from "./transports/session-stream.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;
let app: Hono;
/** These requests have no connection that could be counted. */
const unlimited = { during: () => () => undefined };

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
  const { service, follows, notices, hosts } = bed;
  const live = createLiveWatch({ notices, hosts });
  const { database } = service;
  const views = createSessionViews({ database, follows, live });
  app = sessionStreamTransport(node.dispatcher, views, unlimited, keysOnly);
});
after(() => bed[Symbol.asyncDispose]());

interface Frame {
  id?: number;
  event: string;
  data: Record<string, unknown>;
}

interface Stream extends AsyncDisposable {
  frames: Frame[];
  isOver: boolean;
  of(event: string): Frame[];
}

const path = (sessionId: string, query = "") => `/api/sessions/${sessionId}/events${query}`;
const asking = (key = bed.organization.keys.member, headers = {}) => ({
  headers: { authorization: `Bearer ${key}`, ...headers },
});

async function follow(sessionId: string, query = "", headers = {}): Promise<Stream> {
  const response = await app.request(path(sessionId, query), asking(undefined, headers), {});
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  return readStream(response.body!);
}

function readStream(body: ReadableStream<Uint8Array>): Stream {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const stream: Stream = {
    frames: [],
    isOver: false,
    of: (event) => stream.frames.filter((frame) => frame.event === event),
    async [Symbol.asyncDispose]() {
      await reader.cancel();
    },
  };
  let text = "";
  void (async () => {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        const event = /^event: (.*)$/m.exec(part)?.[1];
        const id = /^id: (.*)$/m.exec(part)?.[1];
        const data = /^data: (.*)$/m.exec(part)?.[1];
        if (!event || !data) continue;
        const frame = { event, data: JSON.parse(data) as Record<string, unknown> };
        stream.frames.push(id ? { id: Number(id), ...frame } : frame);
      }
    }
    stream.isOver = true;
  })();
  return stream;
}

const plan = (n: number) => ({ sessionUpdate: "plan", entries: [], n });

test("the log comes from its beginning, then as it grows, each entry once and numbered", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, { ...plan(1), turnId: "t1" }, plan(2));
  await using stream = await follow(sessionId);
  await until("the record and the first two", () => stream.frames.length === 3);
  const [record, first] = stream.frames;
  assert.deepEqual(
    [record!.event, record!.id, record!.data["sessionId"]],
    ["record", undefined, sessionId],
  );
  assert.deepEqual(first, {
    id: 1,
    event: "entry",
    data: { sessionId, seq: 1, at: "2026-11-15T10:00:00.000Z", turnId: "t1", update: plan(1) },
  });
  await bed.report(sessionId, plan(3));
  await bed.report(sessionId, plan(4), plan(5));
  await until("five", () => stream.of("entry").length === 5);
  assert.deepEqual(
    stream.frames.map(({ id }) => id),
    [undefined, 1, 2, 3, 4, 5],
  );
});

test("it goes on after a place, which a reconnecting browser's header decides", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, plan(1), plan(2), plan(3));
  await using byQuery = await follow(sessionId, "?after=2");
  await using byHeader = await follow(sessionId, "?after=0", { "last-event-id": "1" });
  await until("both", () => byQuery.frames.length === 2 && byHeader.frames.length === 3);
  assert.equal(byQuery.frames[1]!.id, 3);
  assert.equal(byHeader.frames[1]!.id, 2);
});

test("a change of the record is sent without a number", async () => {
  const sessionId = await bed.addSession();
  await using stream = await follow(sessionId);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await node.result("rename_session", { sessionId, title: "Renamed" });
  await until("the record", () => stream.of("record").length > 1);
  const { id, data } = stream.of("record").at(-1)!;
  assert.deepEqual([id, data["title"], data["sessionId"]], [undefined, "Renamed", sessionId]);
});

test("all notices are lost: every viewer has the record and the entries after one comparison", async () => {
  const sessionId = await bed.addSession();
  await using first = await follow(sessionId);
  await using second = await follow(sessionId);
  const viewers = [first, second];
  await until("the records", () => viewers.every((viewer) => viewer.of("record").length === 1));
  bed.notices.isDeaf = true;
  await node.result("rename_session", { sessionId, title: "Renamed" });
  await bed.report(sessionId, plan(1));
  await using late = await follow(sessionId);
  await until("a new viewer's record", () => late.of("record").length === 1);
  assert.equal(late.of("record")[0]!.data["title"], "Renamed");
  await bed.follows.compare();
  await until("the entries", () =>
    [...viewers, late].every((viewer) => viewer.of("entry").length === 1),
  );
  bed.notices.isDeaf = false;
  for (const viewer of viewers) {
    const titles = viewer.of("record").map(({ data }) => data["title"]);
    assert.deepEqual(titles, [null, "Renamed"]);
  }
});

test("a record is sent again only if it differs", async () => {
  const sessionId = await bed.addSession();
  await using stream = await follow(sessionId);
  await until("the record", () => stream.of("record").length === 1);
  bed.viewers.notify(bed.organizationId, { sessions: [sessionId] });
  await node.result("rename_session", { sessionId, title: "Renamed" });
  await until("the next record", () => stream.of("record").length === 2);
  await bed.follows.compare();
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(stream.of("record").length, 2);
});

test("a record that changes while much waits comes when there is room for it", async () => {
  const sessionId = await bed.addSession();
  const response = await app.request(path(sessionId), asking(), {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  const text = "x".repeat(100_000);
  for (let n = 1; n <= 8; n++) await bed.report(sessionId, { ...plan(n), text });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await node.result("rename_session", { sessionId, title: "Renamed" });
  await new Promise((resolve) => setTimeout(resolve, 100));
  await using stream = readStream(response.body!);
  await until("the record", () => stream.of("record").at(-1)?.data["title"] === "Renamed", 3_000);
  assert.equal(stream.of("entry").length, 8);
  assert.deepEqual(
    stream.of("record").map(({ data }) => data["title"]),
    [null, "Renamed"],
  );
});

test("text that is being written comes from its beginning, then as it is written", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, plan(1));
  const open = { itemId: "i", turnId: null, kind: "message", text: "Hel" };
  bed.host.watch_session = () => ({ open: [open] });
  await using stream = await follow(sessionId);
  await until("the beginning", () => stream.of("live").length === 1);
  assert.deepEqual(
    stream.frames.map(({ event }) => event),
    ["record", "entry", "live"],
  );
  const more = JSON.stringify({ ...open, text: "lo", offset: 3 });
  bed.notices.publish(liveSubject(bed.instanceId, sessionId), more);
  await until("the rest", () => stream.of("live").length === 2);
  assert.deepEqual(stream.of("live")[1]!.data, { sessionId, ...open, text: "lo", offset: 3 });
});

test("a caller who may not see the session gets the usual refusals", async () => {
  const sessionId = await bed.addSession();
  const statusOf = async (at: string, init?: RequestInit) =>
    (await app.request(at, init, {})).status;
  assert.equal(await statusOf(path(sessionId)), 401);
  const { database } = bed.service;
  const weak = await makeKey(database, bed.organization.organizationId, ["instances:view"]);
  assert.equal(await statusOf(path(sessionId), asking(weak)), 403);
  for (const id of [formatId("session", crypto.randomUUID()), "nonsense"]) {
    assert.equal(await statusOf(path(id), asking()), 404);
  }
  for (const query of ["?after=x", "?after=-1", "?after=1.5"]) {
    assert.equal(await statusOf(path(sessionId, query), asking()), 400, query);
  }
  for (const method of ["POST", "HEAD"])
    assert.equal(await statusOf(path(sessionId), { method, ...asking() }), 405);
});

test("a revoked key's stream ends within seconds, and so does that of a deleted session", async () => {
  const key = await makeKey(bed.service.database, bed.organization.organizationId, [
    "sessions:view",
  ]);
  const sessionId = await bed.addSession();
  const response = await app.request(path(sessionId), asking(key), {});
  await using revoked = readStream(response.body!);
  const unread = await app.request(path(sessionId), asking(key), {});
  await using deleted = await follow(sessionId);
  await bed.report(sessionId, plan(1), plan(2));
  await until("the entries", () => revoked.of("entry").length === 2);
  await bed.sql(`UPDATE api_keys SET revoked_at = now() WHERE name = 'test key'`);
  await until("the revoked key's end", () => revoked.isOver, 9_000);
  await using late = readStream(unread.body!);
  await until("the end of the stream that was not read", () => late.isOver);
  assert.deepEqual(late.frames, [], "what waited for it");
  assert.equal(deleted.isOver, false);
  await node.result("delete_session", { sessionId });
  await until("the end with the session", () => deleted.isOver);
});

test("a log of 10,000 entries streams within a second", async () => {
  const sessionId = await bed.addSession();
  await fill(sessionId, 10_000, 200);
  const startedAt = performance.now();
  await using stream = await follow(sessionId);
  await until("all entries", () => stream.of("entry").length >= 10_000);
  const ms = performance.now() - startedAt;
  assert.equal(stream.of("entry").at(-1)!.id, 10_000);
  assert.ok(ms < 1_000, `${ms.toFixed(0)} ms`);
});

test("L7: viewers that read nothing or little are cut with a mark before much waits for them; another is not", async () => {
  const sessionId = await bed.addSession();
  await using quick = await follow(sessionId);
  const response = await app.request(path(sessionId), asking(), {});
  const trickle = (await app.request(path(sessionId), asking(), {})).body!.getReader();
  await new Promise((resolve) => setTimeout(resolve, 50));
  const text = "x".repeat(100_000);
  let read = "";
  for (let n = 1; n <= 60; n++) {
    await bed.report(sessionId, { ...plan(n), text });
    if (n % 15 === 0) read += await next(trickle);
  }
  await until("the quick one's entries", () => quick.of("entry").length === 60);
  const soFar = read.length;
  for (let more = " "; more !== ""; read += more) more = await next(trickle);
  assert.match(read, /event: resync\n[^]{0,100}$/);
  assert.ok(read.length - soFar < 4 * 1024 * 1024, `${read.length - soFar} bytes waited`);
  assert.ok(read.length < 60 * text.length, "it was cut");
  const slow = readStream(response.body!);
  await until("the slow one's end", () => slow.isOver);
  const got = slow.of("entry").length;
  assert.equal(slow.frames.at(-1)!.event, "resync");
  assert.ok(got >= 10 && got * text.length < 4 * 1024 * 1024, `${got} entries`);
  assert.deepEqual(
    slow.of("entry").map(({ id }) => id),
    Array.from({ length: got }, (_, index) => index + 1),
  );
});

test("what waits for a viewer, and a page, are limited by their length, however small it lies on the disk", async () => {
  const sessionId = await bed.addSession();
  const response = await app.request(path(sessionId), asking(), {});
  await new Promise((resolve) => setTimeout(resolve, 50));
  const length = 100_000;
  await fill(sessionId, 200, length);
  const page = await node.result("list_session_events", { sessionId, limit: 200 });
  const listed = (page["events"] as unknown[]).length;
  assert.ok(listed * length < 5 * 1024 * 1024 && page["hasMore"], `${listed} entries listed`);
  await bed.follows.compare();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const slow = readStream(response.body!);
  await until("the slow one's end", () => slow.isOver);
  const got = slow.of("entry").length;
  assert.equal(slow.frames.at(-1)!.event, "resync");
  assert.ok(got >= 10 && got * length < 4 * 1024 * 1024, `${got} entries waited`);
});

/** Empty at the end. */
async function next(stream: ReadableStreamDefaultReader<Uint8Array>): Promise<string> {
  const { value } = await stream.read();
  return value === undefined ? "" : Buffer.from(value).toString();
}

/** Entries as the intake would have stored them. */
async function fill(sessionId: string, count: number, length: number): Promise<void> {
  const id = parseId("session", sessionId);
  await bed.sql(
    `INSERT INTO session_log (session_id, seq, organization_id, at, update)
     SELECT $1, n, $2, now(), jsonb_build_object('sessionUpdate', 'plan', 'text', repeat('y', $4))
       FROM generate_series(1, $3::int) AS n`,
    [id, bed.organizationId, count, length],
  );
  await bed.sql(`UPDATE sessions SET applied_seq = $2 WHERE session_id = $1`, [id, count]);
}
