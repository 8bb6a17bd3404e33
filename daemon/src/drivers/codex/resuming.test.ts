// A daemon that is killed before it has stored all of codex's events: the rest is reported once, from
// codex's transcript.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import type { AgentEvent } from "../driver.ts";
import { assertWhole, startSession } from "@hawser/testkit/conformance/recording.ts";
import { maxReported } from "./cursor.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

/** A turn's events without usage, which codex reports with the next turn. */
const lasting = (events: AgentEvent[]) =>
  events
    .filter(({ type }) => !["text", "usage", "cursor_moved"].includes(type))
    .map(({ cursor: _cursor, ...rest }) => rest);

test("after any cursor of a turn that has ended, exactly the rest is reported", async () => {
  const recording = await startSession(bench);
  const turnId = "turn-of-cursors";
  await recording.play(
    [{ reasoning: "Hm.", text: "One.", calls: [bench.command("echo 1")] }, { text: "Two." }],
    { turnId },
  );
  const reported = [...recording.events];
  for (const [index, { cursor, type }] of reported.entries()) {
    if (cursor === undefined || type === "turn_ended") continue;
    recording.events = [];
    await bench.reopen();
    await recording.resume({ cursor, turnId });
    await recording.untilType("turn_ended");
    assert.deepEqual(
      lasting(recording.events),
      lasting(reported.slice(index + 1)),
      `after event ${index}`,
    );
  }
  // Resumes from the first cursor: no token is missing, and none is counted twice.
  recording.events = [];
  await bench.reopen();
  await recording.resume({ cursor: reported[0]!.cursor!, turnId });
  await recording.play([{ text: "Three." }]);
  assertWhole(recording);
  const used = recording.of("usage").reduce((sum, { usage }) => sum + usage.inputTokens, 0);
  assert.equal(used, 3_000);
});

test("many items of a sub-agent do not make its parent's items repeat", async () => {
  const recording = await startSession(bench);
  const turnId = "turn-with-a-sub-agent";
  const many = Array.from({ length: 2 * maxReported }, (_, n) => bench.command(`echo ${n}`));
  await recording.play(
    [
      { text: "Before.", calls: [bench.subAgent([{ calls: many }, { text: "Helped." }])] },
      { text: "After." },
    ],
    { turnId },
  );
  const { cursor } = recording.events.findLast(({ type }) => type === "update")!;
  recording.events = [];
  await bench.reopen();
  await recording.resume({ cursor: cursor!, turnId });
  await recording.untilType("turn_ended");
  assert.deepEqual(
    lasting(recording.events).map(({ type }) => type),
    ["turn_ended"],
    recording.describe(),
  );
});

test("a failure that was not stored is reported", async () => {
  const recording = await startSession(bench);
  const turnId = "turn-that-failed";
  const [first] = await recording.play([{ status: 401 }], { turnId });
  recording.events = [];
  await bench.reopen();
  await recording.resume({ cursor: first!.cursor!, turnId });
  const end = await recording.untilType("turn_ended");
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /login or key/);
});

test("a session without prompts can be resumed", async () => {
  const recording = await startSession(bench, { title: null });
  await bench.reopen();
  await recording.resume();
  await recording.play([{ text: "First." }]);
  assert.deepEqual(recording.messages(), ["First."]);
});

test("the end of a turn that was lost does not end the next one, whose prompt never reached codex", async () => {
  const recording = await startSession(bench);
  await recording.play([{ text: "One.", calls: [bench.command("echo 1")] }, { text: "Two." }]);
  const cursor = recording.events.find((event) => event.type === "update")!.cursor!;
  // The turn was lost, so the session is resumed without it. What that stores is all that is left.
  await bench.reopen();
  recording.cursor = cursor;
  await recording.resume({ turnId: null, messageId: null, cursor });
  const stored = recording.cursor;
  await bench.reopen();
  recording.events = [];
  await recording.resume({ turnId: "turn-2", messageId: "message-never-sent", cursor: stored });
  const { outcome } = await recording.untilType("turn_ended");
  assert.equal(outcome, "interrupted");
  assert.deepEqual(recording.messages(), []);
});
