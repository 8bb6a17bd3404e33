// Waiting for a session.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import { openSessionBed, type SessionBed } from "@hawser/testkit/session-bed.ts";

let bed: SessionBed;
let node: ReturnType<SessionBed["addNode"]>;

before(async () => {
  bed = await openSessionBed();
  node = bed.addNode();
});
after(() => bed[Symbol.asyncDispose]());

const turn = {
  sessionUpdate: "turn_started",
  turnId: "t1",
  messageId: "m",
  model: null,
  agent: null,
};
const finished = {
  sessionUpdate: "turn_finished",
  turnId: "t1",
  outcome: "completed",
  reason: null,
};

/** The result, and how long it took. */
async function wait(input: object) {
  const startedAt = performance.now();
  const result = await node.result("wait_for_session", input);
  return { result, ms: performance.now() - startedAt };
}

test("nothing runs: it answers at once", async () => {
  const sessionId = await bed.addSession();
  const { result, ms } = await wait({ sessionId });
  assert.deepEqual(result, {
    sessionId,
    status: "active",
    activity: "idle",
    turnId: null,
    turnOutcome: null,
    pendingRequests: [],
    lastSeq: 0,
    timedOut: false,
  });
  assert.ok(ms < 1_000);
});

test("it answers when the turn is over, and not before", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn);
  let isBack = false;
  const waiting = wait({ sessionId }).finally(() => (isBack = true));
  await bed.report(sessionId, { sessionUpdate: "plan", entries: [] });
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isBack, false);
  await bed.report(sessionId, finished);
  const { result, ms } = await waiting;
  assert.deepEqual(
    [result["activity"], result["turnId"], result["turnOutcome"], result["lastSeq"]],
    ["idle", "t1", "completed", 3],
  );
  assert.ok(ms < 2_000);
});

test("it goes on waiting while a prompt waits for its turn", async () => {
  const queued = (turnId: string) => ({
    sessionUpdate: "prompt_queued",
    turnId,
    messageId: "m",
    text: "next",
  });
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn, queued("t2"), queued("t3"));
  let isBack = false;
  const waiting = wait({ sessionId }).finally(() => (isBack = true));
  await bed.report(sessionId, finished);
  await new Promise((resolve) => setTimeout(resolve, 100));
  assert.equal(isBack, false);
  const dropped = { sessionUpdate: "prompt_dropped", turnId: "t3", messageId: "m", reason: "x" };
  await bed.report(sessionId, { ...turn, turnId: "t2" }, dropped);
  await bed.report(sessionId, { ...finished, turnId: "t2" });
  assert.equal((await waiting).result["turnId"], "t2");
});

test("it answers when something needs an answer", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn);
  const waiting = wait({ sessionId });
  const requestId = formatId("request", crypto.randomUUID());
  await bed.report(sessionId, {
    sessionUpdate: "request_raised",
    requestId,
    type: "permission",
    permission: { title: "ls", detail: null, alwaysRules: [] },
    questions: null,
    shownHash: "h",
    toolCallId: null,
  });
  const { result } = await waiting;
  assert.equal(result["activity"], "waiting");
  assert.equal((result["pendingRequests"] as { requestId: string }[])[0]!.requestId, requestId);
});

test("it waits for what the caller has not seen, and answers at its timeout", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn, finished);
  const { result, ms } = await wait({ sessionId, afterSeq: 2, timeoutSeconds: 1 });
  assert.equal(result["timedOut"], true);
  assert.ok(ms >= 990 && ms < 2_000, String(ms));
  const waiting = wait({ sessionId, afterSeq: 2 });
  await bed.report(sessionId, { sessionUpdate: "plan", entries: [] });
  assert.equal((await waiting).result["lastSeq"], 3);
});

test("a session that is over is returned whatever the caller has seen; a deleted session is not found", async () => {
  const sessionId = await bed.addSession({ status: "ended" });
  assert.equal((await wait({ sessionId, afterSeq: 9 })).result["status"], "ended");
  const deleted = await bed.addSession();
  await bed.report(deleted, turn);
  const waiting = node.call("wait_for_session", { sessionId: deleted });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await node.result("delete_session", { sessionId: deleted });
  const answer = await waiting;
  assert.equal("refusal" in answer && answer.refusal.code, "not_found");
});
