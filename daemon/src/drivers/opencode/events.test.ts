// Recorded turns of opencode, translated into our events.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AgentEvent } from "../driver.ts";
import { createTracker, type Tracker } from "./events.ts";
import { readFrame, type LiveEvent, type SyncEvent } from "./frames.ts";

function readRecording(name: string): LiveEvent[] {
  const text = readFileSync(new URL(`recordings/1.18.33/${name}.jsonl`, import.meta.url), "utf8");
  return text.split("\n").flatMap((line) => (line && readFrame(JSON.parse(line))) || []);
}

const syncs = (events: LiveEvent[]): SyncEvent[] =>
  events.flatMap((each) => (each.type === "sync" ? [each.event] : []));

/** A tracker that has read everything before the recording's first event. */
function trackerFor(
  events: LiveEvent[],
  cursor?: string,
): { tracker: Tracker; reported: AgentEvent[] } {
  const first = syncs(events)[0]!;
  const reported: AgentEvent[] = [];
  const before = { [first.sessionID]: first.seq - 1 };
  const start = JSON.stringify({ told: before, from: before, fromId: first.id, turn: null });
  const tracker = createTracker(
    {
      id: first.sessionID,
      directory: "/repository",
      title: "Hawser session",
      cursor: cursor ?? start,
      openRequests: [],
      windowOf: (providerId, modelId) => (providerId && modelId ? 32_000 : undefined),
    },
    (event) => reported.push(event),
  );
  if (!cursor) {
    const { id } = first.data["info"] as { id: string };
    tracker.expectTurn((each) => each === id);
  }
  return { tracker, reported };
}

function play(tracker: Tracker, events: LiveEvent[]): void {
  for (const event of events) {
    if (event.type === "sync") assert.equal(tracker.apply(event.event, "stream"), "applied");
    else if (event.type === "delta") tracker.appendText(event.partID, event.delta);
    else if (event.type === "asked") tracker.addRequest(event.request, "");
    else if (event.type === "settled") tracker.settleRequest(event.requestID, event.reply);
  }
}

/** Each event as a short text. */
const summaryOf = (reported: AgentEvent[]) =>
  reported
    .filter(({ type }) => type !== "text")
    .map((event) => {
      if (event.type === "request") return "request";
      if (event.type !== "update") return event.type;
      const { update } = event;
      if (update.sessionUpdate === "tool_call") return `call ${update.title}`;
      if (update.sessionUpdate === "tool_call_update") return update.status;
      if (update.sessionUpdate === "agent_message_chunk") return `"${update.content.text}"`;
      return update.sessionUpdate;
    });

test("text is reported before the calls that follow it, and each call has one start and one end", () => {
  const events = readRecording("calls");
  const { tracker, reported } = trackerFor(events);
  play(tracker, events);
  assert.deepEqual(summaryOf(reported), [
    '"x"',
    "call echo hi",
    "call todowrite",
    "completed",
    "plan",
    "completed",
    "usage",
    "call write /repository/a.txt",
    "completed",
    "usage",
    "call edit /repository/a.txt",
    "completed",
    "usage",
    '"Done."',
    "usage",
  ]);
  assert.equal(tracker.turn()?.last?.finish, "stop");
});

test("a late change of an earlier turn's message is not the end of the turn that runs", () => {
  const events = readRecording("calls");
  const { tracker } = trackerFor(events);
  play(tracker, events);
  const last = syncs(events).at(-1)!;
  const { sessionID } = last;
  let { seq } = last;
  const change = (info: object) => {
    seq++;
    const data = { sessionID, info };
    const event = { id: `${last.id}${seq}`, type: "message.updated.1", seq, sessionID, data };
    assert.equal(tracker.apply(event, "stream"), "applied");
  };
  const earlier = tracker.turn()!.last!;
  tracker.expectTurn("any");
  change({ id: "msg_next", role: "user", sessionID, time: { created: 1 } });
  change({ ...earlier, error: { name: "MessageAbortedError" } });
  assert.equal(tracker.turn()!.last, undefined);
  const answer = { ...earlier, id: "msg_answer", time: { created: 2 } };
  change(answer);
  change({ ...answer, time: { created: 2, completed: 3 } });
  change({ ...earlier, error: { name: "MessageAbortedError" } });
  assert.equal(tracker.turn()!.last?.id, "msg_answer");
});

test("a command's end has its exit code, and usage says how full the context is", () => {
  const events = readRecording("calls");
  const { tracker, reported } = trackerFor(events);
  play(tracker, events);
  const updates = reported.flatMap((event) => (event.type === "update" ? [event.update] : []));
  const codes = updates.flatMap((update) =>
    update.sessionUpdate === "tool_call_update" ? [update.exitCode] : [],
  );
  assert.deepEqual(codes, [undefined, 0, undefined, undefined]);
  const used = reported.flatMap((event) => (event.type === "usage" ? [event] : []));
  assert.ok(used.length > 0);
  for (const { usage, context } of used) {
    const usedTokens = Object.values(usage).reduce((sum, count) => sum + count, 0);
    assert.deepEqual(context, { usedTokens, windowTokens: 32_000 });
  }
});

test("an edit shows its patch and counts, with the path in the directory", () => {
  const events = readRecording("calls");
  const { tracker, reported } = trackerFor(events);
  play(tracker, events);
  const patches = reported.flatMap((event) =>
    event.type === "update" && event.update.sessionUpdate === "tool_call_update"
      ? event.update.content.filter((content) => content.type === "patch")
      : [],
  );
  assert.equal(patches.length, 1);
  const [{ path, added, removed, patch }] = patches as [(typeof patches)[number]];
  assert.deepEqual({ path, added, removed }, { path: "a.txt", added: 1, removed: 1 });
  assert.match(patch, /-one\n\+ONE/);
});

test("a request shows the whole command and one exact rule, and is reported as gone when it is settled elsewhere", () => {
  const events = readRecording("rejected");
  const { tracker, reported } = trackerFor(events);
  play(tracker, events);
  assert.deepEqual(summaryOf(reported).slice(0, 4), [
    "call ls -la && touch x.txt",
    "request",
    "request_gone",
    "failed",
  ]);
  const request = reported.find((event) => event.type === "request");
  assert.deepEqual(request?.asked, {
    permission: {
      title: "Run a command",
      detail: "ls -la && touch x.txt",
      alwaysRules: ["bash: ls -la && touch x.txt"],
    },
  });
  const gone = reported.find((event) => event.type === "request_gone");
  assert.equal(gone?.answer, "reject");
});

test("a sub-agent's items name the call that started it", () => {
  const events = readRecording("sub-agent");
  const { tracker, reported } = trackerFor(events);
  play(tracker, events);
  const parents = reported.flatMap((event) =>
    event.type === "update" && "parentToolCallId" in event.update
      ? [event.update.parentToolCallId]
      : [],
  );
  const task = reported.find(
    (event) => event.type === "update" && event.update.sessionUpdate === "tool_call",
  );
  assert.ok(task?.type === "update" && task.update.sessionUpdate === "tool_call");
  const id = task.update.toolCallId;
  assert.deepEqual(parents, [null, id, id, id, null]);
});

test("the first idle after an abort arrives before the message is complete", () => {
  const events = readRecording("aborted");
  const { tracker } = trackerFor(events);
  const idle = events.findIndex((event) => event.type === "status" && event.status === "idle");
  play(tracker, events.slice(0, idle + 1));
  assert.equal(tracker.turn()?.last?.time.completed, undefined);
  play(tracker, events.slice(idle + 1));
  assert.equal(tracker.turn()?.last?.error?.name, "MessageAbortedError");
});

test("a refusal of the model is the error of the message", () => {
  const events = readRecording("refused-by-model");
  const { tracker } = trackerFor(events);
  play(tracker, events);
  assert.match(tracker.turn()?.last?.error?.data?.message ?? "", /400/);
});

for (const name of ["calls", "rejected", "sub-agent", "aborted", "refused-by-model"]) {
  test(`${name}: the history reports exactly what was not reported before`, () => {
    const events = readRecording(name);
    const { tracker, reported } = trackerFor(events);
    play(tracker, events);
    const lasting = reported.filter(({ type }) => !/text|request/.test(type));
    for (const [index, { cursor }] of lasting.entries()) {
      const again = trackerFor(events, cursor);
      for (const event of syncs(events)) again.tracker.apply(event, "history");
      for (const event of syncs(events)) again.tracker.apply(event, "stream");
      assert.deepEqual(again.reported, lasting.slice(index + 1), `after ${index}`);
    }
  });
}

test("an event after a missing number is a gap and is not applied", () => {
  const events = readRecording("calls");
  const { tracker, reported } = trackerFor(events);
  const [first, , third] = syncs(events);
  assert.equal(tracker.apply(first!, "stream"), "applied");
  assert.equal(tracker.apply(third!, "stream"), "gap");
  assert.deepEqual(reported, []);
});

test("a part of an unknown type is reported as received", () => {
  const events = readRecording("calls");
  const { tracker, reported } = trackerFor(events);
  const [first] = syncs(events);
  tracker.apply(first!, "stream");
  const part = { type: "hologram", id: "prt_1", messageID: "msg_1", sessionID: first!.sessionID };
  const event = { ...first!, seq: first!.seq + 1, type: "message.part.updated.1", data: { part } };
  tracker.apply(event, "stream");
  assert.deepEqual(reported[0]?.type === "update" && reported[0].update, {
    sessionUpdate: "unknown",
    raw: part,
  });
});

test("text whose beginning was missed is reported only when it is complete", () => {
  const events = readRecording("aborted");
  const { tracker, reported } = trackerFor(events);
  const middle = events.findIndex((event) => event.type === "delta") + 2;
  play(tracker, events.slice(0, middle));
  tracker.forgetOffsets();
  play(tracker, events.slice(middle));
  assert.equal(reported.filter(({ type }) => type === "text").length, 2);
  assert.deepEqual(summaryOf(reported), ['"a b c d e f g h i "']);
});
