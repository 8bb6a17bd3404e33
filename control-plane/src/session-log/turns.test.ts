// The turns of a session, read from its log.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId, type ResultOf, type TurnRecord, type registry } from "@hawser/contract";
import { openSessionBed, type SessionBed, type TestUpdate } from "@hawser/testkit/session-bed.ts";

type Page = ResultOf<(typeof registry)["list_session_turns"]>;

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());

const list = async (input: object) =>
  (await node.result("list_session_turns", input)) as unknown as Page;

const started = (turnId: string): TestUpdate => ({
  sessionUpdate: "turn_started",
  turnId,
  messageId: `m-${turnId}`,
  model: null,
  agent: null,
});
const message = (sessionUpdate: string, turnId: string, text: string): TestUpdate => ({
  sessionUpdate,
  turnId,
  messageId: `m-${turnId}`,
  content: { type: "text", text },
});
const finished = (turnId: string, outcome = "completed"): TestUpdate => ({
  sessionUpdate: "turn_finished",
  turnId,
  outcome,
  reason: null,
});
const tokens = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
const cost = (turnId: string, costUsd: number | null): TestUpdate => ({
  sessionUpdate: "usage_update",
  turnId,
  usage: tokens,
  costUsd,
  costIsEstimate: false,
});
/** Adds an entry of another type for each of the numbers, without the intake. */
const fill = (sessionId: string, first: number, last: number) =>
  bed.sql(
    `INSERT INTO session_log (session_id, seq, organization_id, at, turn_id, entry_type, update)
     SELECT $1, seq, $2, now(), 'long', 'plan', '{"sessionUpdate": "plan"}'
       FROM generate_series($3::int, $4::int) seq`,
    [parseId("session", sessionId), bed.organizationId, first, last],
  );
const setSeq = (sessionId: string, seq: number) =>
  bed.sql("UPDATE sessions SET applied_seq = $2, journal_id = 'j1' WHERE session_id = $1", [
    parseId("session", sessionId),
    seq,
  ]);

test("a turn has its prompt with its author, its end and its share of the costs", async () => {
  const sessionId = await bed.addSession();
  const left = formatId("user", "01a1dcb3-708b-7ba5-8f6d-438dd495d03a");
  await bed.report(
    sessionId,
    started("t1"),
    { ...message("user_message_chunk", "t1", "p".repeat(300)), by: left },
    message("agent_message_chunk", "t1", "done"),
    cost("t1", 0.25),
    finished("t1"),
    cost("t1", 0.5),
    started("t2"),
    finished("t2", "failed"),
    started("t3"),
    { ...message("user_message_chunk", "t3", "and now?"), by: "no id" },
    cost("t3", 1.25),
  );
  const { turns, nextCursor } = await list({ sessionId });
  const startedAt = "2026-11-15T10:00:00.000Z";
  const expected: TurnRecord[] = [
    {
      turnId: "t3",
      messageId: "m-t3",
      firstSeq: 9,
      lastSeq: null,
      prompt: "and now?",
      by: null,
      startedAt,
      outcome: null,
      costUsd: 0.75,
    },
    {
      turnId: "t2",
      messageId: "m-t2",
      firstSeq: 7,
      lastSeq: 8,
      prompt: null,
      by: null,
      startedAt,
      outcome: "failed",
      costUsd: null,
    },
    {
      turnId: "t1",
      messageId: "m-t1",
      firstSeq: 1,
      lastSeq: 5,
      prompt: "p".repeat(200),
      by: { userId: left, name: "former member" },
      startedAt,
      outcome: "completed",
      costUsd: 0.5,
    },
  ];
  assert.deepEqual(turns, expected);
  assert.equal(nextCursor, null);
});

test("costs that are unknown, or that begin again, are no share", async () => {
  const sessionId = await bed.addSession();
  const turn = (turnId: string, costUsd: number | null) => [
    started(turnId),
    cost(turnId, costUsd),
    finished(turnId),
  ];
  await bed.report(sessionId, ...turn("t1", 2), ...turn("t2", null), ...turn("t3", 3));
  await bed.report(sessionId, ...turn("t4", 1), ...turn("t5", 1));
  const { turns } = await list({ sessionId });
  assert.deepEqual(
    turns.map(({ costUsd }) => costUsd),
    [0, null, null, null, 2],
  );
});

test("pages of turns follow each other", async () => {
  const sessionId = await bed.addSession();
  const turnIds = ["t1", "t2", "t3", "t4", "t5"];
  await bed.report(
    sessionId,
    ...turnIds.flatMap((turnId, at) => [started(turnId), cost(turnId, at), finished(turnId)]),
  );
  const found: [string, number | null][] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await list({ sessionId, limit: 2, ...(cursor && { cursor }) });
    found.push(
      ...page.turns.map(({ turnId, costUsd }): [string, number | null] => [turnId, costUsd]),
    );
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(found, [
    ["t5", 1],
    ["t4", 1],
    ["t3", 1],
    ["t2", 1],
    ["t1", 0],
  ]);
});

test("a call looks at 10,000 entries, and a long turn has its end all the same", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, started("long"), message("user_message_chunk", "long", "go"));
  await fill(sessionId, 3, 12_000);
  await setSeq(sessionId, 12_000);
  await bed.reportFrom(bed.instanceId, sessionId, 12_001, [finished("long")]);
  const first = await list({ sessionId });
  assert.deepEqual(first.turns, []);
  assert.notEqual(first.nextCursor, null);
  const second = await list({ sessionId, cursor: first.nextCursor });
  assert.equal(second.nextCursor, null);
  assert.deepEqual(
    second.turns.map(({ turnId, lastSeq, outcome, prompt }) => [turnId, lastSeq, outcome, prompt]),
    [["long", 12_001, "completed", "go"]],
  );
});

test("a session without a turn has none, and a cursor of another action is refused", async () => {
  const sessionId = await bed.addSession();
  assert.deepEqual(await list({ sessionId }), { turns: [], nextCursor: null });
  await bed.addSession();
  const { nextCursor: cursor } = await node.result("search_sessions", { limit: 1 });
  const answer = await node.call("list_session_turns", { sessionId, cursor: cursor as string });
  assert.equal("refusal" in answer && answer.refusal.code, "invalid_input");
});
