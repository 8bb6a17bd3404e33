// The model's endpoint refuses, cuts the connection or sends nothing: the turn fails, its reason says what
// to do, and the next turn works.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { writeCodexHome } from "@hawser/testkit/codex-home.ts";
import { freePort } from "@hawser/testkit/free-port.ts";
import { startSession } from "@hawser/testkit/conformance/recording.ts";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { explainTurnError } from "./failures.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench({ silenceMs: 2_000 });
});
after(() => bench[Symbol.asyncDispose]());

const refusals: [number, RegExp][] = [
  [401, /refused the host's login or key.*Log in/],
  [403, /refused the host's login or key/],
  [404, /does not have this model/],
  [429, /rate limit.*Prompt again in a few minutes/],
  [500, /overloaded or has a fault.*Prompt again/],
  [529, /overloaded or has a fault/],
];

test("a refusal ends the turn with a sentence that says what to do", async () => {
  const recording = await startSession(bench);
  for (const [status, expected] of refusals) {
    const end = (await recording.play([{ status }])).at(-1);
    assert.ok(end?.type === "turn_ended");
    assert.equal(end.outcome, "failed", String(status));
    assert.match(end.reason ?? "", expected);
  }
  await recording.play([{ text: "Better." }]);
  assert.deepEqual(recording.messages(), ["Better."]);
});

test("a used-up quota is named as the cause, and no other refusal is", async () => {
  const recording = await startSession(bench);
  for (const [errorType, cause] of [
    ["usage_limit_reached", "quota"],
    ["insufficient_quota", "quota"],
    [undefined, undefined],
  ] as const) {
    const step = { status: 429, ...(errorType && { errorType }) };
    const end = (await recording.play([step])).at(-1);
    assert.ok(end?.type === "turn_ended");
    assert.deepEqual([end.outcome, end.cause], ["failed", cause], errorType);
  }
});

test("a turn does not wait longer than the limit, even if the provider asks for it", async () => {
  const recording = await startSession(bench);
  const end = (await recording.play([{ status: 429, retryAfterSeconds: 3_600 }])).at(-1);
  assert.ok(end?.type === "turn_ended");
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /rate limit.*Prompt again in a few minutes.*Codex says: .*429/);
  await recording.play([{ text: "Better." }]);
  assert.deepEqual(recording.messages(), ["Better."]);
});

test("a connection that is cut ends the turn, and the text received so far is kept", async () => {
  const recording = await startSession(bench);
  const end = (await recording.play([{ text: "Half a sentence", cut: true }])).at(-1);
  assert.ok(end?.type === "turn_ended");
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /cannot be reached.*network/);
  // Once for each try.
  assert.deepEqual(recording.messages(), ["Half a sentence", "Half a sentence"]);
});

test("a model that says nothing ends the turn in time", async () => {
  const recording = await startSession(bench);
  const end = (await recording.play([{ delayMs: 60_000 }])).at(-1);
  assert.ok(end?.type === "turn_ended");
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /said nothing for \d+ seconds.*network/);
  await recording.play([{ text: "Back." }]);
  assert.deepEqual(recording.messages(), ["Back."]);
});

test("a person's answer and a command may take longer than the model may be silent", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ calls: [bench.asking("sleep 3")] }, { text: "Slow." }]);
  const { key } = await recording.untilType("request");
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  await recording.session.answer(key, { permission: "once" }, AbortSignal.timeout(5_000));
  assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
});

test("an endpoint that is closed or never answers ends the turn", async () => {
  const closed = await freePort();
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  try {
    for (const each of [closed, port]) {
      const home = join(bench.folder, `codex-${each}`);
      writeCodexHome(home, `http://127.0.0.1:${each}`);
      await using other = await openCodexBench({ silenceMs: 2_000, home });
      const recording = await startSession(other);
      const end = (await recording.play([{ text: "Never." }])).at(-1);
      assert.ok(end?.type === "turn_ended");
      assert.equal(end.outcome, "failed");
      assert.match(end.reason ?? "", /network/);
    }
  } finally {
    silent.close();
  }
});

test("an unknown error of a newer codex is quoted", () => {
  const message = '{"error":{"message":"Too hot."}}';
  assert.match(
    explainTurnError({ message, codexErrorInfo: "meltdown" }).reason,
    /^The turn failed\. Codex says: Too hot\. Prompt/,
  );
  assert.match(explainTurnError({ message, codexErrorInfo: { meltdown: {} } }).reason, /Too hot/);
  assert.match(
    explainTurnError({ message: "Over.", codexErrorInfo: "usageLimitExceeded" }).reason,
    /usage limit.*Codex says: Over\./,
  );
  assert.match(explainTurnError(null).reason, /without a reason/);
});
