// Reading a session's log: by turn, by type, from its end, and in pages of a size.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { after, before, test } from "node:test";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());

interface Page {
  events: { seq: number; turnId: string | null; update: { sessionUpdate: string } }[];
  lastSeq: number;
  hasMore: boolean;
  nextAfter: number | null;
}

const list = async (input: object) =>
  (await node.result("list_session_events", input)) as unknown as Page;
const seqsOf = ({ events }: Page) => events.map(({ seq }) => seq);

const says = (text: string, turnId: string) => ({
  sessionUpdate: "agent_message_chunk",
  turnId,
  messageId: "m",
  content: { type: "text", text },
  parentToolCallId: null,
});
const plan = (turnId: string) => ({ sessionUpdate: "plan", turnId, entries: [] });

/** Ten entries: odd ones are messages, and each turn has two. */
async function tenEntries(): Promise<string> {
  const sessionId = await bed.addSession();
  const turns = ["t1", "t2", "t3", "t4", "t5"];
  await bed.report(sessionId, ...turns.flatMap((id) => [says(`of ${id}`, id), plan(id)]));
  return sessionId;
}

test("entries of a turn and of types", async () => {
  const sessionId = await tenEntries();
  const types = ["agent_message_chunk"];
  assert.deepEqual(seqsOf(await list({ sessionId, turnId: "t3" })), [5, 6]);
  assert.deepEqual(seqsOf(await list({ sessionId, types })), [1, 3, 5, 7, 9]);
  assert.deepEqual(seqsOf(await list({ sessionId, types, turnId: "t3" })), [5]);
  const none = await list({ sessionId, types: ["shell"] });
  assert.deepEqual(none, { events: [], lastSeq: 10, hasMore: false, nextAfter: null });
});

test("filtered pages follow each other without a gap and a repeat", async () => {
  const sessionId = await tenEntries();
  const found: number[] = [];
  let after: number | null = 0;
  while (after !== null) {
    const page: Page = await list({ sessionId, types: ["plan"], limit: 2, after });
    assert.equal(page.hasMore, page.nextAfter !== null);
    found.push(...seqsOf(page));
    after = page.nextAfter;
  }
  assert.deepEqual(found, [2, 4, 6, 8, 10]);
});

test("the newest entries, in their order", async () => {
  const sessionId = await tenEntries();
  const newest = await list({ sessionId, tail: true, limit: 3 });
  assert.deepEqual([seqsOf(newest), newest.nextAfter], [[8, 9, 10], null]);
  const types = ["agent_message_chunk"];
  assert.deepEqual(seqsOf(await list({ sessionId, tail: true, limit: 2, types })), [7, 9]);
  assert.deepEqual(seqsOf(await list({ sessionId, tail: true, after: 9 })), [10]);
});

test("a page has a size, and at least one entry", async () => {
  const sessionId = await bed.addSession();
  const long = says("x".repeat(2_000), "t1");
  await bed.report(sessionId, long, long, long);
  for (const filter of [{}, { turnId: "t1" }]) {
    const page = await list({ sessionId, maxBytes: 1_000, ...filter });
    assert.deepEqual([seqsOf(page), page.nextAfter], [[1], 1]);
    const rest = await list({ sessionId, maxBytes: 5_000, after: 1, ...filter });
    assert.deepEqual([seqsOf(rest), rest.nextAfter], [[2, 3], null]);
  }
});

test("a filter looks at 10,000 entries, and says where to go on", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, plan("t1"));
  await bed.sql(
    `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, entry_type, update)
     SELECT l.session_id, n, l.organization_id, l.at, l.turn_id, 'plan', l.update
       FROM session_log l, generate_series(2, 10500) AS n
      WHERE l.session_id = (SELECT session_id FROM sessions ORDER BY session_id DESC LIMIT 1)`,
  );
  await bed.sql(
    `UPDATE sessions SET applied_seq = 10500
      WHERE session_id = (SELECT session_id FROM sessions ORDER BY session_id DESC LIMIT 1)`,
  );
  const first = await list({ sessionId, types: ["shell"] });
  assert.deepEqual([seqsOf(first), first.nextAfter, first.hasMore], [[], 10_000, true]);
  const second = await list({ sessionId, types: ["shell"], after: 10_000 });
  assert.deepEqual([seqsOf(second), second.nextAfter], [[], null]);
});

test("entries that an earlier version stored are found by their type too", async () => {
  const sessionId = await tenEntries();
  await bed.sql("UPDATE session_log SET entry_type = NULL");
  assert.deepEqual(seqsOf(await list({ sessionId, types: ["plan"], limit: 2 })), [2, 4]);
});

/** Reads an entry in whole; counts the pages. */
async function readWhole(sessionId: string, seq: number, maxBytes: number) {
  let text = "";
  let pages = 0;
  let cursor: string | null = null;
  let page: { size: number; omitted: string | null; text: string; nextCursor: string | null };
  do {
    const input: object = { sessionId, seq, maxBytes, ...(cursor && { cursor }) };
    page = (await node.result("read_session_entry", input)) as unknown as typeof page;
    assert.ok(Buffer.byteLength(page.text) <= maxBytes);
    text += page.text;
    cursor = page.nextCursor;
    pages++;
  } while (cursor !== null);
  return { text, pages, size: page.size, omitted: page.omitted };
}

test("an entry that was cut is read in whole from its blob, and no page splits a character", async () => {
  const whole = JSON.stringify({ sessionUpdate: "shell", output: "é".repeat(300_000) });
  const bytes = Buffer.from(whole);
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  const [blob] = await bed.sql<{ blob_id: string }>(
    `INSERT INTO blobs (organization_id, sha256, size, stored_at)
     VALUES ($1, decode($2, 'hex'), $3, now()) RETURNING blob_id`,
    [bed.organizationId, sha256, bytes.length],
  );
  const chunk = 256 * 1024;
  for (let position = 0; position * chunk < bytes.length; position++) {
    await bed.sql(
      `INSERT INTO blob_chunks (organization_id, blob_id, position, bytes) VALUES ($1, $2, $3, $4)`,
      [
        bed.organizationId,
        blob!.blob_id,
        position,
        bytes.subarray(position * chunk, (position + 1) * chunk),
      ],
    );
  }
  const sessionId = await bed.addSession();
  const cut = (named: object) => ({ ...says("…", "t1"), _meta: { "hawser/whole": named } });
  const size = bytes.length;
  await bed.report(
    sessionId,
    cut({ size, sha256 }),
    cut({ size, omitted: "quota_exceeded" }),
    says("short", "t1"),
    cut({ size, sha256: "00".repeat(32) }),
  );
  const { text, pages, ...about } = await readWhole(sessionId, 1, chunk);
  assert.ok(text === whole);
  assert.deepEqual({ pages, ...about }, { pages: 3, size, omitted: null });
  const omitted = await readWhole(sessionId, 2, chunk);
  assert.equal(omitted.omitted, "quota_exceeded");
  assert.equal((JSON.parse(omitted.text) as { messageId: string }).messageId, "m");
  const short = await readWhole(sessionId, 3, chunk);
  assert.deepEqual([short.pages, short.size], [1, Buffer.byteLength(short.text)]);
  const code = async (input: object) => {
    const answer = await node.call("read_session_entry", { sessionId, ...input });
    return "refusal" in answer ? answer.refusal.code : undefined;
  };
  assert.equal(await code({ seq: 4 }), "not_found", "a blob that the organization does not have");
  assert.equal(await code({ seq: 5 }), "not_found");
  assert.equal(await code({ seq: 1, cursor: "x" }), "invalid_input");
});
