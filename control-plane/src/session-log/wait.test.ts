// Waiting for a session.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { formatId } from "@hawser/contract";
import { openSessionBed, type SessionBed, type TestUpdate } from "@hawser/testkit/session-bed.ts";

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
    statusReason: null,
    statusMessage: null,
    reachable: true,
    activity: "idle",
    turnId: null,
    turnOutcome: null,
    turnReason: null,
    queuedTurnIds: [],
    runningShellIds: [],
    pendingRequests: [],
    lastMessage: null,
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

test("it says why a turn failed, also if the caller has the log up to there", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn);
  await bed.report(sessionId, { ...finished, outcome: "failed", reason: "The model is away." });
  const { result } = await wait({ sessionId });
  assert.deepEqual([result["turnOutcome"], result["turnReason"]], ["failed", "The model is away."]);
  await bed.report(sessionId, { ...turn, turnId: "t2" });
  const { result: next } = await wait({ sessionId, timeoutSeconds: 1 });
  assert.deepEqual([next["turnOutcome"], next["turnReason"]], [null, null]);
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
  const { result, ms } = await wait({ sessionId, sinceSeq: 2, timeoutSeconds: 1 });
  assert.equal(result["timedOut"], true);
  assert.ok(ms >= 990 && ms < 2_000, String(ms));
  const waiting = wait({ sessionId, sinceSeq: 2 });
  await bed.report(sessionId, { sessionUpdate: "plan", entries: [] });
  assert.equal((await waiting).result["lastSeq"], 3);
});

test("a session that is over is returned whatever the caller has seen; a deleted session is not found", async () => {
  const sessionId = await bed.addSession({ status: "ended" });
  assert.equal((await wait({ sessionId, sinceSeq: 9 })).result["status"], "ended");
  const deleted = await bed.addSession();
  await bed.report(deleted, turn);
  const waiting = node.call("wait_for_session", { sessionId: deleted });
  await new Promise((resolve) => setTimeout(resolve, 50));
  await node.result("delete_session", { sessionId: deleted });
  const answer = await waiting;
  assert.equal("refusal" in answer && answer.refusal.code, "not_found");
});

const shellStarted = { sessionUpdate: "shell_started", shellId: "sh1", agent: null };
const shellEnded = {
  sessionUpdate: "shell",
  shellId: "sh1",
  exitCode: 0,
  output: "",
  reason: null,
  agent: null,
};
const says = (text: string, parentToolCallId: string | null = null) => ({
  sessionUpdate: "agent_message_chunk",
  turnId: "t1",
  messageId: "m",
  content: { type: "text", text },
  parentToolCallId,
});
const statusIs = (status: string, code: string, reason: string) => ({
  sessionUpdate: "session_status",
  status,
  reason,
  code,
});
const asks = {
  sessionUpdate: "request_raised",
  type: "permission",
  permission: { title: "ls", detail: null, alwaysRules: [] },
  questions: null,
  shownHash: "h",
  toolCallId: null,
};

/** A case, the entries that the host reports, whether the host is connected, and the expected result. */
const table: [string, { updates: TestUpdate[]; host?: "dead" }, object][] = [
  ["a turn runs", { updates: [turn] }, { activity: "running", timedOut: true }],
  [
    "a shell command runs",
    { updates: [turn, finished, shellStarted] },
    { activity: "running", runningShellIds: ["sh1"], turnOutcome: "completed", timedOut: true },
  ],
  [
    "a shell command has ended",
    { updates: [shellStarted, shellEnded] },
    { activity: "idle", runningShellIds: [], timedOut: false },
  ],
  [
    "a prompt waits",
    {
      updates: [
        turn,
        { sessionUpdate: "prompt_queued", turnId: "t2", messageId: "m", text: "next" },
        finished,
      ],
    },
    { activity: "running", queuedTurnIds: ["t2"], timedOut: true },
  ],
  [
    "a request waits for an answer",
    { updates: [turn, { ...asks, requestId: formatId("request", crypto.randomUUID()) }] },
    { activity: "waiting", timedOut: false },
  ],
  [
    "the host is gone in a turn",
    { updates: [turn], host: "dead" },
    { activity: "unknown", reachable: false, status: "active", timedOut: true },
  ],
  [
    "the host is gone while a shell command runs",
    { updates: [shellStarted], host: "dead" },
    { activity: "unknown", reachable: false, timedOut: true },
  ],
  [
    "the host is gone and nothing ran",
    { updates: [turn, finished], host: "dead" },
    { activity: "idle", reachable: false, timedOut: false },
  ],
  [
    "the agent died in a turn",
    {
      updates: [
        turn,
        { ...finished, outcome: "interrupted", reason: "It was killed." },
        statusIs("error", "agent_lost", "The agent's process was killed."),
      ],
    },
    {
      activity: "idle",
      turnOutcome: "interrupted",
      status: "error",
      statusReason: "agent_lost",
      statusMessage: "The agent's process was killed.",
      timedOut: false,
    },
  ],
  [
    "the session is detached",
    { updates: [statusIs("detached", "agent_restarted", "The agent was restarted.")] },
    { activity: "idle", status: "detached", statusReason: "agent_restarted", timedOut: false },
  ],
  [
    "the session has ended",
    { updates: [shellStarted, { sessionUpdate: "session_status", status: "ended", reason: null }] },
    { activity: "idle", status: "ended", runningShellIds: [], timedOut: false },
  ],
  [
    "the agent has answered",
    { updates: [turn, says("first"), says("last"), says("of a sub-agent", "call"), finished] },
    { activity: "idle", lastMessage: { seq: 3, text: "last", isCut: false }, timedOut: false },
  ],
];

for (const [what, { updates, host }, expected] of table) {
  test(`the result of waiting if ${what}`, async () => {
    const sessionId = await bed.addSession();
    await bed.report(sessionId, ...updates);
    const setHost = (status: string) => bed.sql("UPDATE instances SET status = $1", [status]);
    if (host === "dead") await setHost("offline");
    try {
      const { result } = await wait({ sessionId, timeoutSeconds: 1 });
      const told = Object.fromEntries(Object.keys(expected).map((name) => [name, result[name]]));
      assert.deepEqual(told, expected);
    } finally {
      await setHost("online");
    }
  });
}

test("the agent's last message is of the last turn, newer than what the caller has, and cut", async () => {
  const sessionId = await bed.addSession();
  await bed.report(sessionId, turn, says("x".repeat(5_000)), finished);
  const { result } = await wait({ sessionId });
  const { text, isCut } = result["lastMessage"] as { text: string; isCut: boolean };
  assert.deepEqual([text.length, isCut], [4_000, true]);
  const lastSeq = result["lastSeq"] as number;
  const waiting = wait({ sessionId, sinceSeq: lastSeq });
  await bed.report(
    sessionId,
    { ...turn, turnId: "t2" },
    { ...finished, turnId: "t2", outcome: "failed" },
  );
  const { result: next } = await waiting;
  assert.deepEqual([next["turnId"], next["lastMessage"]], ["t2", null]);
});
