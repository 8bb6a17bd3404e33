// The model's endpoint refuses, cuts the connection or sends nothing. opencode itself would retry without
// limit, so the turn is stopped in time, its reason says what to do, and the next turn works.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { after, before, test } from "node:test";
import { freePort } from "@hawser/testkit/free-port.ts";
import { openOpencodeBench, type OpencodeBench } from "@hawser/testkit/opencode-bench.ts";
import { writeOpencodeHome } from "@hawser/testkit/opencode-home.ts";
import { until } from "@hawser/testkit/until.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import type { Step } from "../scripted/script.ts";
import { explainError, explainRetries } from "./failures.ts";
import type { OpencodeSession } from "./session.ts";

const limits = { silenceMs: 8_000, retryMs: 3_000 };
let bench: OpencodeBench;
before(async () => {
  bench = await openOpencodeBench({ limits });
});
after(() => bench[Symbol.asyncDispose]());

const failing: [string, Step, RegExp][] = [
  [
    "a wrong key",
    { status: 401 },
    /refused the host's login or key\. Log in on the host with `opencode auth login`/,
  ],
  ["a login without rights", { status: 403 }, /refused the host's login or key/],
  ["a model that is not there", { status: 404 }, /does not have this model/],
  ["a limit", { status: 429 }, /rate limit.*Prompt again in a few minutes/],
  ["a limit with its end", { status: 429, retryAfterSeconds: 3_600 }, /again after 2\d{3}-.*once/],
  ["a fault", { status: 500 }, /overloaded or has a fault.*times/],
  ["too many requests for it", { status: 529 }, /overloaded or has a fault/],
  ["a stream that is cut", { text: "So far", cut: true }, /cannot be reached from this host/],
];

for (const [what, step, reason] of failing) {
  test(`${what} fails the turn and says what to do`, async () => {
    const recording = await startSession(bench);
    const end = (await recording.play([step])).at(-1);
    assert.ok(end?.type === "turn_ended", recording.describe());
    assert.equal(end.outcome, "failed");
    assert.match(end.reason ?? "", reason);
    const from = recording.messages().length;
    const next = (await recording.play([{ text: "Better." }])).at(-1);
    assert.ok(next?.type === "turn_ended" && next.outcome === "completed", recording.describe());
    assert.deepEqual(recording.messages().slice(from), ["Better."]);
  });
}

test("a used-up quota is named as the cause, and a rate limit is not", async () => {
  const recording = await startSession(bench);
  const used = { status: 429, errorType: "insufficient_quota", retryAfterSeconds: 3_600 };
  for (const [step, cause] of [
    [used, "quota"],
    [{ status: 429, retryAfterSeconds: 3_600 }, undefined],
  ] as const) {
    const end = (await recording.play([step])).at(-1);
    assert.ok(end?.type === "turn_ended", recording.describe());
    assert.deepEqual([end.outcome, end.cause], ["failed", cause], end.reason ?? "");
  }
});

test("a turn waits for a service that fails for a short time", async () => {
  const recording = await startSession(bench);
  const end = (await recording.play([{ status: 500, times: 1 }, { text: "At last." }])).at(-1);
  assert.ok(end?.type === "turn_ended" && end.outcome === "completed", recording.describe());
  assert.deepEqual(recording.messages(), ["At last."]);
});

test("a turn that waits for the next call of the model can be aborted", async () => {
  const recording = await startSession(bench);
  const asked = bench.model.requests.length;
  await recording.prompt([{ status: 500 }]);
  await until("the model is asked", () => bench.model.requests.length > asked);
  await recording.session.abort(never);
  const { outcome, reason } = await recording.untilType("turn_ended");
  assert.deepEqual([outcome, reason], ["aborted", null]);
});

test("the late error event of an aborted turn does not end the next one", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ text: "one two three four five six", paceMs: 1_000 }]);
  await recording.session.abort(never);
  const ends = () => recording.events.filter((event) => event.type === "turn_ended");
  await until("the turn is aborted", () => ends().length === 1);
  await recording.prompt([{ text: "Done.", delayMs: 3_000 }]);
  // Where the event stream would deliver it, had it been slower than the answers of the API.
  const session = recording.session as OpencodeSession;
  const error = { name: "MessageAbortedError" };
  session.onEvent({ type: "error", sessionID: session.handle, error });
  await until("the next turn has ended", () => ends().length === 2);
  const outcomes = ends().map(({ outcome }) => outcome);
  assert.deepEqual(outcomes, ["aborted", "completed"], recording.describe());
  assert.deepEqual(recording.messages().slice(-1), ["Done."]);
});

test("the rate limit of a sub-agent's model ends the turn too", async () => {
  const recording = await startSession(bench);
  const call = bench.subAgent([{ status: 429, retryAfterSeconds: 3_600 }]);
  const end = (await recording.play([{ calls: [call] }, { text: "Never." }])).at(-1);
  assert.ok(end?.type === "turn_ended", recording.describe());
  assert.equal(end.outcome, "failed");
  assert.match(end.reason ?? "", /rate limit.*Prompt again after 2\d{3}-/);
});

test("a model that says nothing, or stops in the middle, ends the turn in time", async () => {
  for (const step of [{ delayMs: 60_000 }, { text: "One two", paceMs: 60_000 }]) {
    const recording = await startSession(bench);
    const end = (await recording.play([step])).at(-1);
    assert.ok(end?.type === "turn_ended", recording.describe());
    assert.equal(end.outcome, "failed");
    assert.match(end.reason ?? "", /said nothing for \d+ seconds.*network/);
    await recording.play([{ text: "Back." }]);
    assert.equal(recording.messages().at(-1), "Back.");
  }
});

test("a person's answer and a command may take longer than the model may be silent", async () => {
  const recording = await startSession(bench);
  await recording.prompt([{ calls: [bench.asking("sleep 9")] }, { text: "Slow." }]);
  const { key } = await recording.untilType("request");
  await new Promise((resolve) => setTimeout(resolve, limits.silenceMs + 1_000));
  await recording.session.answer(key, { permission: "once" }, never);
  assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
});

test("an endpoint that is closed or never answers ends the turn", async () => {
  const silent = createServer((socket) => socket.on("error", () => {})).listen(0, "127.0.0.1");
  await new Promise((resolve) => silent.once("listening", resolve));
  const { port } = silent.address() as { port: number };
  const failAt = async (each: number) => {
    await using other = await openOpencodeBench({ limits });
    writeOpencodeHome(other.home, `http://127.0.0.1:${each}`);
    const recording = await startSession(other);
    const end = (await recording.play([{ text: "Never." }])).at(-1);
    assert.ok(end?.type === "turn_ended", recording.describe());
    assert.equal(end.outcome, "failed");
    assert.match(end.reason ?? "", /network/);
  };
  try {
    await Promise.all([failAt(await freePort()), failAt(port)]);
  } finally {
    silent.close();
  }
});

test("an unknown error of a newer opencode is quoted", () => {
  const strange = { name: "MeltdownError", data: { message: "Too hot.\nat line 7" } };
  assert.equal(
    explainError(strange).reason,
    "The turn failed. opencode says: Too hot. Prompt again.",
  );
  assert.match(explainError({ name: "ContextOverflowError" }).reason, /too long.*new session/);
  const retry = { attempt: 3, message: "Strange.", next: 0 };
  assert.match(
    explainRetries(retry, 0).reason,
    /no complete answer.*asked 3 times\. opencode says: Strange/,
  );
});
