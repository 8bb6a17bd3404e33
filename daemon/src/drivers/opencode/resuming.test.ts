// A turn is ended by its own events, also if the daemon was killed before it stored that an earlier turn ended.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startSession, type Recording } from "@hawser/testkit/conformance/recording.ts";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";

let bench: OpencodeBench;
before(async () => {
  bench = await openOpencodeBench();
});
after(() => bench[Symbol.asyncDispose]());

/** The cursor after the first event of the turn. */
function cursorDuringTurn(recording: Recording): string {
  const { cursor } = recording.of("update")[0]!;
  assert.ok((JSON.parse(cursor!) as { turn: string | null }).turn);
  return cursor!;
}

test("the end of an earlier turn does not end a turn whose prompt never reached opencode", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ text: "One.", calls: [bench.command("echo one")] }, { text: "Two." }]);
  await recording.untilType("turn_ended");
  const cursor = cursorDuringTurn(recording);
  await bench.reopen();
  recording.events = [];
  await recording.resume({ turnId: "turn-2", messageId: "message-never-sent", cursor });
  const { outcome, reason } = await recording.untilType("turn_ended");
  assert.deepEqual(
    { outcome, reason },
    { outcome: "interrupted", reason: "The prompt did not reach opencode." },
  );
});

test("a session whose turn was lost forgets the turn before the next one is sent", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ text: "One.", calls: [bench.command("echo one")] }, { text: "Two." }]);
  await recording.untilType("turn_ended");
  const cursor = cursorDuringTurn(recording);
  await bench.reopen();
  await recording.resume({ turnId: null, messageId: null, cursor });
  const { turn } = JSON.parse(recording.cursor!) as { turn: string | null };
  assert.equal(turn, null);
});
