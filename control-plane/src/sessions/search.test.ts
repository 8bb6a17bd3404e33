// Searching sessions, requests and the log of a session for a text.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());

interface Found {
  sessions: { sessionId: string }[];
  nextCursor: string | null;
}

const search = async (input: object, key?: string) =>
  (await node.result("search_sessions", input, key ? { key } : {})) as unknown as Found;
const idsOf = ({ sessions }: Found) => sessions.map(({ sessionId }) => sessionId);

test("sessions are found by title, branch and directory, in any case", async () => {
  const byTitle = await bed.addSession({ title: "Fix the LOGIN of Ümit" });
  const byBranch = await bed.addSession({ worktree_branch: "hawser/login-4711" });
  await bed.addSession({ title: "something else" });
  assert.deepEqual(idsOf(await search({ query: "login" })), [byBranch, byTitle]);
  assert.deepEqual(idsOf(await search({ query: "ümit" })), [byTitle]);
  assert.equal(idsOf(await search({ query: "/srv" })).length, 3);
  assert.deepEqual(idsOf(await search({ query: "%" })), [], "no pattern, but a text");
  assert.deepEqual(idsOf(await search({ query: "login", status: "ended" })), []);
  const { instanceId } = bed;
  assert.deepEqual(idsOf(await search({ query: "login", instanceId })), [byBranch, byTitle]);
});

test("another organization's sessions and logs are not found", async () => {
  const { database } = bed.service;
  const other = await createTestOrganization(database, "Other", "olga@other.example");
  const sessionId = await bed.addSession({ title: "hidden from others" });
  assert.deepEqual(idsOf(await search({ query: "hidden" })), [sessionId]);
  const key = other.keys.owner;
  assert.deepEqual(idsOf(await search({ query: "hidden" }, key)), []);
  const answer = await node.call("search_session_events", { sessionId, query: "x" }, { key });
  assert.equal("refusal" in answer && answer.refusal.code, "not_found");
});

test("pages of a search follow each other", async () => {
  const made = [];
  for (let n = 0; n < 5; n++) made.unshift(await bed.addSession({ title: `paged ${n}` }));
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Found = await search({ query: "paged", limit: 2, ...(cursor && { cursor }) });
    found.push(...idsOf(page));
    cursor = page.nextCursor;
  } while (cursor !== null);
  assert.deepEqual(found, made);
});

test("a search looks at 20,000 sessions, and says where to go on", async () => {
  const wanted = await bed.addSession({ title: "the needle" });
  // Without triggers, which would count each of them.
  await bed.sql(
    `DO $$ BEGIN
       SET LOCAL session_replication_role = replica;
       INSERT INTO sessions (organization_id, instance_id, agent_kind, started_by, title, ancestor_ids)
       SELECT organization_id, instance_id, agent_kind, started_by, 'hay', '{}'
         FROM sessions, generate_series(1, 20000) WHERE session_id = '${parseId("session", wanted)}';
     END $$`,
  );
  const first = await search({ query: "the needle" });
  assert.deepEqual(idsOf(first), []);
  assert.notEqual(first.nextCursor, null);
  const second = await search({ query: "the needle", cursor: first.nextCursor });
  assert.deepEqual([idsOf(second), second.nextCursor], [[wanted], null]);
});

test("requests are found by their title, detail and questions", async () => {
  const sessionId = await bed.addSession();
  const raise = async (shown: object) => {
    const requestId = formatId("request", crypto.randomUUID());
    const nothing = { permission: null, questions: null, toolCallId: null };
    const request = { requestId, shownHash: "h", ...nothing, ...shown };
    await bed.report(sessionId, { sessionUpdate: "request_raised", ...request });
    return requestId;
  };
  const permission = { title: "bash", detail: "rm -rf Build", alwaysRules: [] };
  const byDetail = await raise({ type: "permission", permission });
  const question = { question: "Which build?", options: [], multiple: false, freeText: true };
  const byQuestion = await raise({ type: "question", questions: [question] });
  const searched = async (query: string) => {
    const { requests } = await node.result("search_requests", { query });
    return (requests as { requestId: string }[]).map(({ requestId }) => requestId);
  };
  assert.deepEqual(await searched("build"), [byQuestion, byDetail]);
  assert.deepEqual(await searched("RM -RF"), [byDetail]);
  assert.deepEqual(await searched("alwaysRules"), [], "the names of fields are no text");
});

test("words in a log are found with what surrounds them, and ids are no words", async () => {
  const sessionId = await bed.addSession();
  const says = (text: string, messageId = "m") => ({
    sessionUpdate: "agent_message_chunk",
    turnId: "t1",
    messageId,
    content: { type: "text", text },
    parentToolCallId: null,
  });
  const long = `${"before ".repeat(60)}The Needle${" after".repeat(60)}`;
  await bed.report(sessionId, says("hay"), says(long), says("more hay", "needle-id"), {
    sessionUpdate: "shell",
    shellId: "s",
    exitCode: 0,
    output: "line one\nneedle in the output\n",
    reason: null,
    agent: null,
  });
  const found = await node.result("search_session_events", { sessionId, query: "needle" });
  const matches = found["matches"] as { seq: number; type: string; text: string }[];
  assert.deepEqual(
    matches.map(({ seq, type }) => [seq, type]),
    [
      [2, "agent_message_chunk"],
      [4, "shell"],
    ],
  );
  assert.match(matches[0]!.text, /^…(before )+The Needle( after)+…$/);
  assert.ok(matches[0]!.text.length <= 260);
  assert.equal(matches[1]!.text, "line one\nneedle in the output\n");
  assert.equal(found["nextAfter"], null);
  const first = await node.result("search_session_events", {
    sessionId,
    query: "needle",
    limit: 1,
  });
  assert.equal(first["nextAfter"], 2);
  await bed.report(sessionId, says('C:\\dir said "HI"'));
  const quoted = await node.result("search_session_events", { sessionId, query: '\\DIR said "hi' });
  assert.equal((quoted["matches"] as unknown[]).length, 1);
  const call = { sessionUpdate: "tool_call", toolCallId: "c", title: "Ask", kind: "other" };
  const rawInput = { issueId: "ABC-123", status: "blocked by legal" };
  await bed.report(sessionId, { ...call, status: "pending", rawInput, parentToolCallId: null });
  for (const query of ["abc-123", "by legal"]) {
    const inInput = await node.result("search_session_events", { sessionId, query });
    assert.equal((inInput["matches"] as unknown[]).length, 1, query);
  }
  for (const query of ["%needle", "needle-id", "text", "agent_message"]) {
    const none = await node.result("search_session_events", { sessionId, query });
    assert.deepEqual(none["matches"], [], query);
  }
});
