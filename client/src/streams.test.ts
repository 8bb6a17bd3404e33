import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import {
  events,
  hangUp,
  refusal,
  startScriptedService,
  type ScriptedService,
} from "@hawser/testkit/scripted-service.ts";
import { createClient, Refused, Unanswered, type SessionStreamEvent } from "./index.ts";

const connect = ({ url }: ScriptedService, options = {}) =>
  createClient({ url, key: "hwk_test", ...options });
const pathsOf = ({ received }: ScriptedService) => received.map(({ path }) => path);
const sessionId = "ses_1";

const record = 'event: record\ndata: {"sessionId":"ses_1","status":"active"}\n\n';
const live = 'event: live\ndata: {"sessionId":"ses_1","itemId":"i","text":"wo","offset":0}\n\n';
const entry = (seq: number, text = "…") =>
  `id: ${seq}\nevent: entry\ndata: ${JSON.stringify({ sessionId, seq, turnId: "t", update: { sessionUpdate: "agent_message_chunk", content: { text } } })}\n\n`;
const cut = (response: ServerResponse) => response.destroy();
const end = (response: ServerResponse) => response.end();

/** Reads until the entry with this seq. */
async function readUntil(
  stream: AsyncIterable<SessionStreamEvent>,
  seq: number,
): Promise<SessionStreamEvent[]> {
  const seen: SessionStreamEvent[] = [];
  for await (const event of stream) {
    seen.push(event);
    if (event.type === "entry" && event.seq === seq) break;
  }
  return seen;
}

const seqsOf = (seen: SessionStreamEvent[]) =>
  seen.flatMap((event) => (event.type === "entry" ? event.seq : []));

test("a session's stream delivers its record, live text and entries", async () => {
  await using service = await startScriptedService(
    events(record + live + ": alive\n\n" + entry(1)),
  );
  const seen = await readUntil(connect(service).followSession({ sessionId }), 1);
  assert.deepEqual(
    seen.map(({ type }) => type),
    ["record", "live", "entry"],
  );
  assert.equal(service.received[0]!.headers.authorization, "Bearer hwk_test");
});

test("a stream that is cut or ends continues after its last entry, without a gap or a repeat", async () => {
  await using service = await startScriptedService(
    events(record + entry(4) + entry(5), cut),
    hangUp,
    events(record + entry(6), end),
    refusal(503, { code: "unavailable", retry: "later" }),
    // Repeats what was delivered.
    events(record + entry(5) + entry(6) + entry(7) + entry(8)),
  );
  const seen = await readUntil(connect(service).followSession({ sessionId, after: 3 }), 8);
  assert.deepEqual(seqsOf(seen), [4, 5, 6, 7, 8]);
  assert.deepEqual(
    pathsOf(service),
    [3, 5, 5, 6, 6].map((after) => `/api/sessions/ses_1/events?after=${after}`),
  );
});

test("an entry that is cut in the middle is delivered once, whole", async () => {
  const whole = entry(2, "grün ".repeat(1_000));
  await using service = await startScriptedService(
    events(entry(1) + whole.slice(0, 3_000), cut),
    events(whole),
  );
  const seen = await readUntil(connect(service).followSession({ sessionId }), 2);
  assert.deepEqual(seqsOf(seen), [1, 2]);
  assert.ok(JSON.stringify(seen.at(-1)).includes("grün ".repeat(1_000)));
});

test("text is read right wherever the network divides it", async () => {
  const bytes = Buffer.from(record + entry(1, "Grüße 👋") + entry(2));
  await using service = await startScriptedService((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (at: number) => {
      if (at < bytes.length)
        response.write(bytes.subarray(at, at + 1), () => setImmediate(send, at + 1));
    };
    send(0);
  });
  const seen = await readUntil(connect(service).followSession({ sessionId }), 2);
  assert.deepEqual(seqsOf(seen), [1, 2]);
  assert.ok(JSON.stringify(seen).includes("Grüße 👋"));
});

test("a gap in the log is an error and never delivered", async () => {
  await using service = await startScriptedService(events(entry(1) + entry(3)));
  const reading = readUntil(connect(service).followSession({ sessionId }), 3);
  await assert.rejects(reading, /ses_1 has a gap: 1 is followed by 3/);
});

test("a stream that falls silent is connected again; comments are not silence", async () => {
  await using service = await startScriptedService(
    (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(entry(1));
      const alive = setInterval(() => response.write(": alive\n\n"), 100);
      setTimeout(() => clearInterval(alive), 2_000);
    },
    events(entry(2)),
  );
  const seen = await readUntil(
    connect(service, { silenceMs: 1_500 }).followSession({ sessionId }),
    2,
  );
  assert.deepEqual(seqsOf(seen), [1, 2]);
  const [first, second] = service.received;
  const aliveMs = second!.at - first!.at;
  assert.ok(aliveMs >= 3_000, `connected again after ${aliveMs} ms`);
});

test("the time that a reader needs for an event is not silence", async () => {
  await using service = await startScriptedService(events(entry(1) + entry(2)));
  for await (const event of connect(service, { silenceMs: 200 }).followSession({ sessionId })) {
    if (event.type === "entry" && event.seq === 2) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  assert.equal(service.received.length, 1);
});

test("a refusal for good ends the stream", async () => {
  await using service = await startScriptedService(
    events(entry(1), cut),
    refusal(404, { code: "not_found", retry: "never" }),
  );
  const reading = readUntil(connect(service).followSession({ sessionId }), 2);
  await assert.rejects(reading, (error) => error instanceof Refused && error.code === "not_found");
});

test("a stream that cannot connect gives up after the deadline, counted from the loss", async () => {
  await using service = await startScriptedService(events(entry(1), cut), hangUp);
  const startedAt = performance.now();
  const reading = readUntil(
    connect(service, { deadlineMs: 1_000 }).followSession({ sessionId }),
    2,
  );
  await assert.rejects(reading, Unanswered);
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < 8_000, `${tookMs} ms`);
  assert.ok(service.received.length >= 3);
});

test("a service that ends every stream at once is asked less and less often", async () => {
  await using service = await startScriptedService(events(record, end));
  const stop = new AbortController();
  setTimeout(() => stop.abort(new Error("enough")), 2_000);
  const reading = readUntil(connect(service).followSession({ sessionId, signal: stop.signal }), 1);
  await assert.rejects(reading, /enough/);
  // The pauses double from 100 ms on.
  assert.ok(service.received.length <= 7, `${service.received.length} connections in 2 s`);
});

test("a reader that stops, or whose signal aborts, closes the connection", async () => {
  const closed: Promise<unknown>[] = [];
  await using service = await startScriptedService((response, request) => {
    closed.push(once(response, "close"));
    events(entry(1))(response, request);
  });
  await readUntil(connect(service).followSession({ sessionId }), 1);
  const stop = new AbortController();
  const reading = readUntil(connect(service).followSession({ sessionId, signal: stop.signal }), 2);
  setTimeout(() => stop.abort(new Error("enough")), 200);
  await assert.rejects(reading, /enough/);
  await Promise.all(closed);
  assert.equal(closed.length, 2);
});

test("the organization's events begin with resync, also after every loss", async () => {
  const changed = (id: string) =>
    `event: changed\ndata: {"type":"changed","record":"session","id":"${id}"}\n\n`;
  await using service = await startScriptedService(
    events(changed("a"), cut),
    events(`${changed("b")}event: resync\ndata: {"type":"resync"}\n\n${changed("c")}`),
  );
  const seen: string[] = [];
  for await (const event of connect(service).followEvents()) {
    seen.push(event.type === "changed" ? event.id : event.type);
    if (seen.at(-1) === "c") break;
  }
  assert.deepEqual(seen, ["resync", "a", "resync", "b", "resync", "c"]);
});
