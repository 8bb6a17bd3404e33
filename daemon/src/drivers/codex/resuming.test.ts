// A daemon that was killed after codex had told more than was written down: the rest is told from codex's
// own transcript, once.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import type { AgentEvent } from "../driver.ts";
import { assertWhole, startSession } from "@hawser/testkit/conformance/recording.ts";
import { mostTold } from "./cursor.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

/** What is told of a turn beside its usage, which codex tells with the next one. */
const lasting = (events: AgentEvent[]) =>
  events
    .filter(({ type }) => !["text", "usage", "cursor_moved"].includes(type))
    .map(({ cursor: _cursor, ...rest }) => rest);

test("from any cursor of a turn that was over, exactly the rest is told", async () => {
  const recording = await startSession(bench);
  const turnId = "turn-of-cursors";
  await recording.play(
    [{ reasoning: "Hm.", text: "One.", calls: [bench.command("echo 1")] }, { text: "Two." }],
    { turnId },
  );
  const told = [...recording.events];
  for (const [index, { cursor, type }] of told.entries()) {
    if (cursor === undefined || type === "turn_ended") continue;
    recording.events = [];
    await bench.reopen();
    await recording.resume({ cursor, turnId });
    await recording.untilType("turn_ended");
    assert.deepEqual(
      lasting(recording.events),
      lasting(told.slice(index + 1)),
      `after event ${index}`,
    );
  }
  // From the beginning again, as nothing had been written down: no token is missing, none is counted twice.
  recording.events = [];
  await bench.reopen();
  await recording.resume({ cursor: told[0]!.cursor!, turnId });
  await recording.play([{ text: "Three." }]);
  assertWhole(recording);
  const used = recording.of("usage").reduce((sum, { usage }) => sum + usage.inputTokens, 0);
  assert.equal(used, 3_000);
});

test("what a long sub-agent did repeats nothing of its parent", async () => {
  const recording = await startSession(bench);
  const turnId = "turn-with-a-sub-agent";
  const many = Array.from({ length: 2 * mostTold }, (_, n) => bench.command(`echo ${n}`));
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

test("a failure that was not written down is told", async () => {
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

test("a session that was never prompted is taken up", async () => {
  const recording = await startSession(bench, { title: null });
  await bench.reopen();
  await recording.resume();
  await recording.play([{ text: "First." }]);
  assert.deepEqual(recording.messages(), ["First."]);
});
