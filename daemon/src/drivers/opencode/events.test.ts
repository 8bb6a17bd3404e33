// What opencode said in recorded turns, in our words.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import type { AgentEvent } from "../driver.ts";
import { openTracker, type Tracker } from "./events.ts";
import { readFrame, type LiveEvent, type SyncEvent } from "./frames.ts";

function readRecording(name: string): LiveEvent[] {
  const text = readFileSync(new URL(`recordings/1.18.33/${name}.jsonl`, import.meta.url), "utf8");
  return text.split("\n").flatMap((line) => (line && readFrame(JSON.parse(line))) || []);
}

const syncs = (events: LiveEvent[]): SyncEvent[] =>
  events.flatMap((each) => (each.type === "sync" ? [each.event] : []));

/** A tracker that stands just before the recording's first event. */
function trackerFor(
  events: LiveEvent[],
  cursor?: string,
): { tracker: Tracker; told: AgentEvent[] } {
  const first = syncs(events)[0]!;
  const told: AgentEvent[] = [];
  const before = { [first.sessionID]: first.seq - 1 };
  const start = JSON.stringify({ told: before, from: before, fromId: first.id, turn: null });
  const tracker = openTracker(
    {
      id: first.sessionID,
      directory: "/repository",
      title: "Hawser session",
      cursor: cursor ?? start,
      openRequests: [],
    },
    (event) => told.push(event),
  );
  if (!cursor) tracker.expect((first.data["info"] as { id: string }).id);
  return { tracker, told };
}

function play(tracker: Tracker, events: LiveEvent[]): void {
  for (const event of events) {
    if (event.type === "sync") assert.equal(tracker.take(event.event, "stream"), "taken");
    else if (event.type === "delta") tracker.delta(event.partID, event.delta);
    else if (event.type === "asked") tracker.asked(event.request);
    else if (event.type === "settled") tracker.settled(event.requestID, event.reply);
  }
}

/** Each event in a few words. */
const words = (told: AgentEvent[]) =>
  told
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

test("text stands before the calls that follow it, and each call has one start and one end", () => {
  const events = readRecording("calls");
  const { tracker, told } = trackerFor(events);
  play(tracker, events);
  assert.deepEqual(words(told), [
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

test("an edit shows its patch and counts, with the path in the directory", () => {
  const events = readRecording("calls");
  const { tracker, told } = trackerFor(events);
  play(tracker, events);
  const patches = told.flatMap((event) =>
    event.type === "update" && event.update.sessionUpdate === "tool_call_update"
      ? event.update.content.filter((content) => content.type === "patch")
      : [],
  );
  assert.equal(patches.length, 1);
  const [{ path, added, removed, patch }] = patches as [(typeof patches)[number]];
  assert.deepEqual({ path, added, removed }, { path: "a.txt", added: 1, removed: 1 });
  assert.match(patch, /-one\n\+ONE/);
});

test("a request shows the whole command and one exact rule, and is gone when it is settled elsewhere", () => {
  const events = readRecording("rejected");
  const { tracker, told } = trackerFor(events);
  play(tracker, events);
  assert.deepEqual(words(told).slice(0, 4), [
    "call ls -la && touch x.txt",
    "request",
    "request_gone",
    "failed",
  ]);
  const request = told.find((event) => event.type === "request");
  assert.deepEqual(request?.asked, {
    permission: {
      title: "Run a command",
      detail: "ls -la && touch x.txt",
      alwaysRules: ["bash: ls -la && touch x.txt"],
    },
  });
  const gone = told.find((event) => event.type === "request_gone");
  assert.equal(gone?.answer, "reject");
});

test("a sub-agent's items carry the call it works for", () => {
  const events = readRecording("sub-agent");
  const { tracker, told } = trackerFor(events);
  play(tracker, events);
  const parents = told.flatMap((event) =>
    event.type === "update" && "parentToolCallId" in event.update
      ? [event.update.parentToolCallId]
      : [],
  );
  const task = told.find(
    (event) => event.type === "update" && event.update.sessionUpdate === "tool_call",
  );
  assert.ok(task?.type === "update" && task.update.sessionUpdate === "tool_call");
  const id = task.update.toolCallId;
  assert.deepEqual(parents, [null, id, id, id, null]);
});

test("an abort's first idle comes before its message is complete", () => {
  const events = readRecording("aborted");
  const { tracker } = trackerFor(events);
  const idle = events.findIndex((event) => event.type === "status" && event.status === "idle");
  play(tracker, events.slice(0, idle + 1));
  assert.equal(tracker.turn()?.last?.time.completed, undefined);
  play(tracker, events.slice(idle + 1));
  assert.equal(tracker.turn()?.last?.error?.name, "MessageAbortedError");
});

test("a model's refusal is the message's error", () => {
  const events = readRecording("refused-by-model");
  const { tracker } = trackerFor(events);
  play(tracker, events);
  assert.match(tracker.turn()?.last?.error?.data?.message ?? "", /400/);
});

for (const name of ["calls", "rejected", "sub-agent", "aborted", "refused-by-model"]) {
  test(`${name}: whatever was told before, the history tells exactly the rest`, () => {
    const events = readRecording(name);
    const { tracker, told } = trackerFor(events);
    play(tracker, events);
    const lasting = told.filter(({ type }) => !/text|request/.test(type));
    for (const [index, { cursor }] of lasting.entries()) {
      const again = trackerFor(events, cursor);
      for (const event of syncs(events)) again.tracker.take(event, "history");
      for (const event of syncs(events)) again.tracker.take(event, "stream");
      assert.deepEqual(again.told, lasting.slice(index + 1), `after ${index}`);
    }
  });
}

test("a number that is left out is a gap, and is not taken", () => {
  const events = readRecording("calls");
  const { tracker, told } = trackerFor(events);
  const [first, , third] = syncs(events);
  assert.equal(tracker.take(first!, "stream"), "taken");
  assert.equal(tracker.take(third!, "stream"), "gap");
  assert.deepEqual(told, []);
});

test("a part of a kind that we do not know is kept as it came", () => {
  const events = readRecording("calls");
  const { tracker, told } = trackerFor(events);
  const [first] = syncs(events);
  tracker.take(first!, "stream");
  const part = { type: "hologram", id: "prt_1", messageID: "msg_1", sessionID: first!.sessionID };
  const event = { ...first!, seq: first!.seq + 1, type: "message.part.updated.1", data: { part } };
  tracker.take(event, "stream");
  assert.deepEqual(told[0]?.type === "update" && told[0].update, {
    sessionUpdate: "unknown",
    raw: part,
  });
});

test("text whose beginning was missed is not told piece by piece", () => {
  const events = readRecording("aborted");
  const { tracker, told } = trackerFor(events);
  const middle = events.findIndex((event) => event.type === "delta") + 2;
  play(tracker, events.slice(0, middle));
  tracker.forgetOffsets();
  play(tracker, events.slice(middle));
  assert.equal(told.filter(({ type }) => type === "text").length, 2);
  assert.deepEqual(words(told), ['"a b c d e f g h i "']);
});
