// Answers: one of many wins, `answered` means that the agent accepted it, and an answer that did not
// arrive is stored (R44 to R46, T4).
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { formatId, parseId } from "@hawser/contract";
import { createTestOrganization } from "@hawser/testkit/organization.ts";
import { openSessionBed, refusing, type SessionBed } from "@hawser/testkit/session-bed.ts";
import { OutcomeUnknown } from "../dispatch/handler.ts";
import { createLog } from "../log.ts";
import { createOwedEndings } from "../instances/owed-endings.ts";

let bed: SessionBed;
let nodes: ReturnType<SessionBed["addNode"]>[];
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  nodes = [bed.addNode(), bed.addNode()];
  node = nodes[0]!;
});
after(() => bed[Symbol.asyncDispose]());
beforeEach(() => {
  bed.asked.length = 0;
  for (const command of Object.keys(bed.host)) delete bed.host[command as keyof typeof bed.host];
});

const questions = [
  {
    question: "Which?",
    options: [{ label: "A", description: null }],
    multiple: false,
    freeText: false,
  },
  {
    question: "And?",
    options: [{ label: "B", description: null }],
    multiple: true,
    freeText: true,
  },
];

async function raise(type: "permission" | "question" = "permission") {
  const sessionId = await bed.addSession();
  const requestId = formatId("request", crypto.randomUUID());
  await bed.report(sessionId, {
    sessionUpdate: "request_raised",
    requestId,
    type,
    permission: type === "permission" ? { title: "ls", detail: null, alwaysRules: [] } : null,
    questions: type === "question" ? questions : null,
    shownHash: "shown",
    toolCallId: null,
  });
  return { sessionId, requestId };
}

const settle = (sessionId: string, requestId: string, outcome: string, answer: string | null) =>
  bed.report(sessionId, {
    sessionUpdate: "request_settled",
    requestId,
    outcome,
    answer,
    answers: null,
    reason: null,
  });

async function recordOf(sessionId: string): Promise<Record<string, unknown>> {
  const { requests } = await node.result("list_pending_requests", { sessionId, scope: "all" });
  return (requests as Record<string, unknown>[])[0]!;
}

test("an answer that the agent accepted is answered, and the record says by whom", async () => {
  bed.host.answer_request = () => ({ status: "answered" });
  const { sessionId, requestId } = await raise();
  const open = await recordOf(sessionId);
  assert.deepEqual([open["status"], open["answerable"], open["answer"]], ["pending", true, null]);
  const answer = { requestId, answer: "always" };
  assert.deepEqual(await node.result("answer_permission", answer), { status: "answered" });
  const { ownerId: _owner, ...payload } = bed.asked[0]!.payload;
  assert.deepEqual(payload, {
    sessionId,
    requestId,
    shownHash: "shown",
    answer: "always",
    answers: null,
  });
  const record = await recordOf(sessionId);
  assert.deepEqual(
    [record["status"], record["answer"], record["answerable"]],
    ["answered", "always", false],
  );
  assert.equal((record["answeredBy"] as { type: string }).type, "user");
  await settle(sessionId, requestId, "answered", "always");
  assert.deepEqual((await recordOf(sessionId))["answeredBy"], record["answeredBy"]);
  assert.deepEqual(await node.result("answer_permission", answer), { status: "already_resolved" });
  assert.equal(bed.asked.length, 1);
});

test("of twenty answers on two nodes one reaches the host", async () => {
  bed.host.answer_request = async () => {
    await new Promise((resolve) => setTimeout(resolve, 50));
    return { status: "answered" };
  };
  const { requestId } = await raise();
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, n) =>
      nodes[n % 2]!.result("answer_permission", { requestId, answer: n % 3 ? "once" : "reject" }),
    ),
  );
  const statuses = results.map(({ status }) => status as string).sort();
  assert.deepEqual(statuses, [...Array<string>(19).fill("already_resolved"), "answered"]);
  assert.equal(bed.asked.length, 1);
});

test("an answer that cannot be delivered is on record, and the request is offered again when the host is back", async () => {
  const setHost = (status: string) => bed.sql("UPDATE instances SET status = $1", [status]);
  for (const away of [refusing("host_offline"), refusing("unavailable"), unknown]) {
    bed.host.answer_request = away;
    const { sessionId, requestId } = await raise();
    const answer = { requestId, answer: "once" };
    await setHost("offline");
    assert.deepEqual(await node.result("answer_permission", answer), { status: "undeliverable" });
    await setHost("online");
    const record = await recordOf(sessionId);
    assert.deepEqual([record["status"], record["answer"]], ["undeliverable", "once"]);
    assert.notEqual(record["answeredBy"], null);
    await hostIsBack();
    assert.equal((await recordOf(sessionId))["status"], "pending");
    bed.host.answer_request = () => ({ status: "answered" });
    assert.deepEqual(await node.result("answer_permission", answer), { status: "answered" });
  }
});

test("a request stays pending if its host is connected and did not confirm the answer", async () => {
  bed.host.answer_request = unknown;
  const { sessionId, requestId } = await raise();
  const answer = { requestId, answer: "once" };
  assert.deepEqual(await node.result("answer_permission", answer), { status: "undeliverable" });
  const { pendingRequests } = await node.result("wait_for_session", { sessionId });
  assert.equal((pendingRequests as { requestId: string }[])[0]?.requestId, requestId);
  bed.host.answer_request = () => ({ status: "answered" });
  assert.deepEqual(await node.result("answer_permission", answer), { status: "answered" });
});

test("an answer whose confirmation was lost is corrected by the log", async () => {
  bed.host.answer_request = unknown;
  const { sessionId, requestId } = await raise();
  await node.result("answer_permission", { requestId, answer: "once" });
  await settle(sessionId, requestId, "answered", "once");
  const record = await recordOf(sessionId);
  assert.equal(record["status"], "answered");
  assert.equal((record["answeredBy"] as { type: string }).type, "user");
  // Even if the log arrives before the host's time is up.
  const other = await raise();
  bed.host.answer_request = async () => {
    await settle(other.sessionId, other.requestId, "answered", "reject");
    return unknown();
  };
  const late = { requestId: other.requestId, answer: "reject" };
  assert.deepEqual(await node.result("answer_permission", late), { status: "answered" });
});

test("another answer at the host was first", async () => {
  bed.host.answer_request = () => ({ status: "already_resolved" });
  const { sessionId, requestId } = await raise();
  const answer = { requestId, answer: "once" };
  assert.deepEqual(await node.result("answer_permission", answer), { status: "already_resolved" });
  await settle(sessionId, requestId, "answered", "reject");
  const record = await recordOf(sessionId);
  assert.deepEqual([record["answer"], record["answeredBy"]], ["reject", null]);
});

test("an answer that the host refuses does not count, and the next one does", async () => {
  bed.host.answer_request = refusing("daemon_outdated");
  const { sessionId, requestId } = await raise();
  const answer = { requestId, answer: "once" };
  const refused = await node.call("answer_permission", answer);
  assert.equal("refusal" in refused && refused.refusal.code, "host_refused");
  assert.equal((await recordOf(sessionId))["status"], "pending");
  bed.host.answer_request = () => ({ status: "answered" });
  assert.deepEqual(await node.result("answer_permission", answer), { status: "answered" });
});

test("an answer that was lost with a node can be repeated after a while", async () => {
  bed.host.answer_request = () => ({ status: "answered" });
  const { requestId } = await raise();
  const hold = (until: string) =>
    bed.sql(`UPDATE requests SET delivering_until = now() + $2::interval WHERE request_id = $1`, [
      parseId("request", requestId),
      until,
    ]);
  const answer = { requestId, answer: "once" };
  await hold("5 seconds");
  assert.deepEqual(await node.result("answer_permission", answer), { status: "already_resolved" });
  await hold("-1 second");
  assert.deepEqual(await node.result("answer_permission", answer), { status: "answered" });
});

test("an answer that does not fit consumes nothing", async () => {
  bed.host.answer_request = () => ({ status: "answered" });
  const { sessionId, requestId } = await raise("question");
  const wrongType = await node.call("answer_permission", { requestId, answer: "once" });
  assert.equal("refusal" in wrongType && wrongType.refusal.code, "wrong_request_type");
  for (const answers of [
    [["A"]],
    [["A"], [], []],
    [["A", "A"], ["B"]],
    [["C"], ["B"]],
    [["A"], [" "]],
  ]) {
    const unfit = await node.call("answer_question", { requestId, answers });
    assert.ok("refusal" in unfit);
    assert.deepEqual(
      [unfit.refusal.code, unfit.refusal.details.fields?.[0]?.field],
      ["invalid_input", "answers"],
    );
  }
  assert.equal((await recordOf(sessionId))["status"], "pending");
  const answers = [["A"], ["B", "something else"]];
  const given = { requestId, answers };
  assert.deepEqual(await node.result("answer_question", given), { status: "answered" });
  assert.deepEqual((await recordOf(sessionId))["answers"], answers);
  const dismissed = await raise("question");
  await node.result("answer_question", { requestId: dismissed.requestId, reject: true });
  assert.equal((await recordOf(dismissed.sessionId))["answer"], "reject");
});

test("ending a session withdraws its open requests; a later answer is on record and not delivered", async () => {
  bed.host.end_session = () => ({});
  bed.host.answer_request = () => ({ status: "answered" });
  const { sessionId, requestId } = await raise();
  await node.result("end_session", { sessionId });
  assert.equal((await recordOf(sessionId))["status"], "withdrawn");
  const answer = { requestId, answer: "once" };
  assert.deepEqual(await node.result("answer_permission", answer), { status: "undeliverable" });
  const record = await recordOf(sessionId);
  assert.deepEqual(
    [record["status"], record["answer"], record["answerable"]],
    ["undeliverable", "once", false],
  );
  await settle(sessionId, requestId, "withdrawn", null);
  await hostIsBack();
  assert.equal((await recordOf(sessionId))["status"], "undeliverable");
  assert.equal(bed.asked.filter(({ command }) => command === "answer_request").length, 0);
  await node.result("delete_session", { sessionId });
  const gone = await node.call("answer_permission", answer);
  assert.equal("refusal" in gone && gone.refusal.code, "not_found");
});

test("requests are listed the newest first, by session, host and scope, and paged", async () => {
  const made = [await raise(), await raise(), await raise()];
  const [first, second, third] = made.map(({ requestId }) => requestId);
  await settle(made[1]!.sessionId, second!, "withdrawn", null);
  const ids = async (action: string, input: object) =>
    ((await node.result(action, input))["requests"] as { requestId: string }[]).map(
      ({ requestId }) => requestId,
    );
  const { instanceId } = bed;
  assert.deepEqual((await ids("list_pending_requests", { instanceId })).slice(0, 2), [
    third,
    first,
  ]);
  assert.equal((await ids("list_pending_requests", { scope: "resolved" }))[0], second);
  assert.deepEqual(await ids("list_pending_requests", { scope: "all", limit: 3 }), [
    third,
    second,
    first,
  ]);
  const { sessionId } = made[0]!;
  assert.deepEqual(await ids("list_pending_requests", { sessionId, instanceId }), [first]);
  const seen: string[] = [];
  let cursor: unknown;
  do {
    const input = { scope: "all", limit: 2, ...(cursor ? { cursor } : {}) };
    const page = await node.result("search_requests", input);
    seen.push(...(page["requests"] as { requestId: string }[]).map(({ requestId }) => requestId));
    cursor = page["nextCursor"];
  } while (cursor);
  assert.deepEqual(seen, await ids("list_pending_requests", { scope: "all", limit: 200 }));
});

function unknown(): never {
  throw new OutcomeUnknown("The host did not answer in time.");
}

async function hostIsBack(): Promise<void> {
  const { service, hosts, viewers } = bed;
  const log = createLog("silent");
  const owed = createOwedEndings({ database: service.database, hosts, viewers, log });
  await owed.hostIsBack(parseId("instance", bed.instanceId)!);
}

test("a request is shown by its id, and not to another organization", async () => {
  const { requestId } = await raise();
  const shown = await node.result("get_request", { requestId });
  const { requests } = await node.result("search_requests", {});
  assert.deepEqual(
    shown,
    (requests as { requestId: string }[]).find((each) => each.requestId === requestId),
  );
  const { database } = bed.service;
  const other = await createTestOrganization(database, "Other", "olga@other.example");
  const answer = await node.call("get_request", { requestId }, { key: other.keys.owner });
  assert.equal("refusal" in answer && answer.refusal.code, "not_found");
});
