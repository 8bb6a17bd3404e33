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

test("a search by agent kind and person finds what both apply to, with a text, a group or alone", async () => {
  const userId = formatId("user", crypto.randomUUID());
  const startedBy = JSON.stringify({ type: "user", id: userId, name: "Mira" });
  const wanted = await bed.addSession({
    title: "by Mira",
    agent_kind: "claude_code",
    started_by: startedBy,
  });
  const other = await bed.addSession({ title: "by Mira too", started_by: startedBy });
  assert.deepEqual(idsOf(await search({ startedBy: userId })), [other, wanted]);
  assert.deepEqual(idsOf(await search({ startedBy: userId, agentKind: "claude_code" })), [wanted]);
  assert.deepEqual(idsOf(await search({ startedBy: userId, query: "TOO" })), [other]);
  assert.deepEqual(idsOf(await search({ startedBy: userId, group: "idle" })), [other, wanted]);
  assert.deepEqual(idsOf(await search({ startedBy: userId, group: "ended" })), []);
  const nobody = formatId("user", crypto.randomUUID());
  assert.deepEqual(idsOf(await search({ startedBy: nobody })), []);
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

test("a text is found as it is written, also with letters that have several lower cases", async () => {
  const texts = ["ΟΔΟΣ to the sea", "İstanbul trip", "Straße ÄÖÜ"];
  const sessionId = await bed.addSession();
  const content = (text: string) => ({ content: { type: "text", text }, parentToolCallId: null });
  const message = { sessionUpdate: "agent_message_chunk", turnId: "t1", messageId: "m" };
  const asked = { shownHash: "h", type: "permission", questions: null, toolCallId: null };
  for (const text of texts) {
    const titled = await bed.addSession({ title: text });
    const requestId = formatId("request", crypto.randomUUID());
    const permission = { title: text, detail: null, alwaysRules: [] };
    const raised = { sessionUpdate: "request_raised", ...asked, requestId, permission };
    await bed.report(sessionId, { ...message, ...content(text) }, raised);
    for (const query of [text, text.slice(0, 4), text.slice(-3)]) {
      assert.deepEqual(idsOf(await search({ query })), [titled], query);
      const { requests } = await node.result("search_requests", { query });
      assert.equal((requests as unknown[]).length, 1, query);
      const { matches } = await node.result("search_session_events", { sessionId, query });
      // The message and the request.
      assert.equal((matches as unknown[]).length, 2, query);
    }
  }
});

test("questions are found by their text, not by its JSON", async () => {
  const sessionId = await bed.addSession();
  const ask = async (...questions: string[]) => {
    const requestId = formatId("request", crypto.randomUUID());
    const offered = { header: "H", options: [], multiple: false, freeText: true };
    const request = { shownHash: "h", permission: null, toolCallId: null, type: "question" };
    await bed.report(sessionId, {
      sessionUpdate: "request_raised",
      requestId,
      ...request,
      questions: questions.map((question) => ({ question, ...offered })),
    });
    return requestId;
  };
  const quoted = await ask('Use "tabs" or spaces?', "And which width?");
  const lines = await ask("First line\nsecond line of C:\\dir");
  const searched = async (query: string) => {
    const { requests } = await node.result("search_requests", { query, sessionId });
    return (requests as { requestId: string }[]).map(({ requestId }) => requestId);
  };
  assert.deepEqual(await searched('"TABS"'), [quoted]);
  assert.deepEqual(await searched("which width"), [quoted]);
  assert.deepEqual(await searched("line\nsecond"), [lines]);
  assert.deepEqual(await searched("c:\\dir"), [lines]);
  for (const query of ["line\\nsecond", '["', '", "']) {
    assert.deepEqual(await searched(query), [], query);
  }
});

test("a search in a log of large entries reads some of them, and says where to go on", async () => {
  const sessionId = await bed.addSession();
  await bed.sql(
    `INSERT INTO session_log (session_id, seq, organization_id, at, update, entry_type)
     SELECT session_id, seq, organization_id, now(),
            jsonb_build_object('sessionUpdate', 'agent_message_chunk', 'text',
                               repeat('lorem ipsum ', 10000) || CASE WHEN seq IN (1, 100) THEN 'needle' ELSE '' END),
            'agent_message_chunk'
       FROM sessions, generate_series(1, 100) AS seq WHERE session_id = $1`,
    [parseId("session", sessionId)],
  );
  await bed.sql("UPDATE sessions SET applied_seq = 100 WHERE session_id = $1", [
    parseId("session", sessionId),
  ]);
  const found: number[] = [];
  const pages: number[] = [];
  for (let after: number | null = 0; after !== null;) {
    const page: Record<string, unknown> = await node.result("search_session_events", {
      sessionId,
      query: "Needle",
      after,
    });
    found.push(...(page["matches"] as { seq: number }[]).map(({ seq }) => seq));
    after = page["nextAfter"] as number | null;
    if (after !== null) pages.push(after);
  }
  assert.deepEqual(found, [1, 100]);
  // 8 MiB of entries with 120 kB each.
  assert.deepEqual(pages, [70]);
  const first = { sessionId, query: "ipsum", limit: 3 };
  assert.equal((await node.result("search_session_events", first))["nextAfter"], 3);
  const behind = { sessionId, query: "ipsum", after: 100 };
  const none = { matches: [], nextAfter: null };
  assert.deepEqual(await node.result("search_session_events", behind), none);
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
