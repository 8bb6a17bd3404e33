// The events of a turn: text, thoughts, tool calls, plans, sub-agents, usage, and failures.
import assert from "node:assert/strict";
import { test } from "node:test";
import { NotOffered, capabilitiesOf } from "@hawser/daemon/drivers/driver.ts";
import type { Bench } from "./bench.ts";
import { assertWhole, never, startSession, type Recording } from "./recording.ts";

export function turnCases(bench: () => Bench): void {
  test("it says that it is ready, and what it offers", async () => {
    const found = await bench().driver().readState(never);
    assert.equal(found.installed, true);
    assert.equal(found.authenticated, true);
    assert.deepEqual(found.problems, []);
    assert.match(found.version ?? "", /^\d+\.\d+\.\d+/);
    assert.deepEqual(found.capabilities, capabilitiesOf(bench().driver()));
    const [option] = found.options;
    assert.equal(option?.id, optionOf(bench()));
    assert.ok(option.values.includes(bench().variant));
  });

  test("it lists its models with the default one, and shows no keys", async () => {
    const listing = await bench().driver().listModels(never);
    const all = listing.providers.flatMap(({ providerId, models }) =>
      models.map(({ modelId }) => ({ providerId, modelId })),
    );
    assert.ok(all.length >= 2);
    assert.deepEqual(
      all.filter((model) => model.modelId === listing.defaultModel?.modelId),
      [listing.defaultModel],
    );
    assert.doesNotMatch(JSON.stringify(listing), /apiKey/i);
  });

  test("it lists its modes, without those for its own use", async () => {
    const modes = await bench().driver().listModes(never);
    const [usual, subAgent] = bench().differs?.modes ?? ["build", "general"];
    assert.equal(modes[0], usual);
    assert.ok(modes.includes("plan") && modes.includes(subAgent));
    assert.ok(!modes.includes("title"));
  });

  test("text comes as it is written, then whole, then the turn ends once", async () => {
    const recording = await startSession(bench());
    assert.ok(recording.session.handle);
    await recording.play([{ text: "One two three four five.", paceMs: 10 }]);
    assert.deepEqual(recording.messages(), ["One two three four five."]);
    assertText(recording, "message", "One two three four five.");
    assert.ok(recording.of("text").length >= 3);
    assert.deepEqual(
      recording.of("turn_ended").map(({ outcome, reason }) => ({ outcome, reason })),
      [{ outcome: "completed", reason: null }],
    );
    assert.equal(recording.events.at(-1)?.type, "turn_ended");
    assertWhole(recording);
  });

  test("a thought is distinguished from the message", async () => {
    const recording = await startSession(bench());
    await recording.play([{ reasoning: "Let me think about it.", text: "Done." }]);
    const [thought] = recording
      .updates()
      .filter(({ sessionUpdate }) => sessionUpdate === "agent_thought_chunk");
    assert.ok(thought?.sessionUpdate === "agent_thought_chunk");
    assert.equal(thought.content.text, "Let me think about it.");
    assertText(recording, "thought", "Let me think about it.");
    assert.deepEqual(recording.messages(), ["Done."]);
  });

  test("a call is reported when it starts and when it ends, with its result", async () => {
    const recording = await startSession(bench());
    await recording.play([
      { calls: [bench().command("echo one; echo two")] },
      { text: "It is done." },
    ]);
    const [start, end] = recording
      .updates()
      .filter(({ sessionUpdate }) => sessionUpdate.startsWith("tool_call"));
    assert.ok(start?.sessionUpdate === "tool_call");
    assert.equal(start.kind, "execute");
    assert.equal(start.parentToolCallId, null);
    assert.equal((start.rawInput as { command: string }).command, "echo one; echo two");
    assert.ok(end?.sessionUpdate === "tool_call_update");
    assert.equal(end.toolCallId, start.toolCallId);
    assert.equal(end.status, "completed");
    assert.match(JSON.stringify(end.content), /one\\ntwo/);
    assertWhole(recording);
  });

  test("text before a call is reported before the call", async () => {
    const recording = await startSession(bench());
    await recording.play([
      { text: "I look at it.", calls: [bench().command("echo look")] },
      { text: "Seen." },
    ]);
    assert.deepEqual(
      recording.updates().map(({ sessionUpdate }) => sessionUpdate),
      ["agent_message_chunk", "tool_call", "tool_call_update", "agent_message_chunk"],
    );
  });

  test("two calls at once are distinguished", async () => {
    const recording = await startSession(bench());
    await recording.play([
      { calls: [bench().command("echo first"), bench().command("echo second")] },
      { text: "Both." },
    ]);
    const ends = recording
      .updates()
      .filter((update) => update.sessionUpdate === "tool_call_update");
    assert.equal(ends.length, 2);
    assertWhole(recording);
  });

  test("a call that fails is reported as failed, and the turn goes on", async () => {
    const recording = await startSession(bench());
    const read = { tool: "read", input: { filePath: `${recording.place.directory}/none.txt` } };
    await recording.play([
      { calls: [bench().differs?.failing ?? read] },
      { text: "There is none." },
    ]);
    const end = recording.updates().find((update) => update.sessionUpdate === "tool_call_update");
    assert.equal(end?.status, "failed");
    assert.deepEqual(recording.messages(), ["There is none."]);
  });

  test("a plan is reported", async (t) => {
    if (bench().differs?.hasNoPlans) return t.skip("It makes no plans.");
    const recording = await startSession(bench());
    await recording.play([{ calls: [bench().plan("Paint the boat")] }, { text: "Planned." }]);
    const plan = recording.updates().find((update) => update.sessionUpdate === "plan");
    const entries = plan?.entries.map(({ content, status }) => ({ content, status }));
    assert.deepEqual(entries, [{ content: "Paint the boat", status: "pending" }]);
  });

  test("the work of a sub-agent is reported with the call that it belongs to", async () => {
    const recording = await startSession(bench());
    const below = { text: "Below.", delayMs: belowMs(bench()) };
    await recording.play([
      { calls: [bench().subAgent([{ calls: [bench().command("echo below")] }, below])] },
      { text: "Above." },
    ]);
    const [task, inner] = recording
      .updates()
      .filter((update) => update.sessionUpdate === "tool_call");
    assert.equal(task?.parentToolCallId, null);
    assert.equal(inner?.parentToolCallId, task?.toolCallId);
    const parents = recording
      .updates()
      .flatMap((update) =>
        update.sessionUpdate === "agent_message_chunk"
          ? [[update.content.text, update.parentToolCallId]]
          : [],
      );
    const told = [
      ["Below.", task?.toolCallId],
      ["Above.", null],
    ];
    assert.deepEqual(parents, bench().differs?.doesNotWait ? told.toReversed() : told);
    assert.equal(recording.of("turn_ended").length, 1);
    assertWhole(recording);
  });

  test("usage and cost are reported for each call of the model, sub-agents' included", async () => {
    const recording = await startSession(bench());
    const usage = { input: 1000, output: 50, cached: 400, reasoning: 10 };
    const below = { text: "Below.", usage, delayMs: belowMs(bench()) };
    await recording.play([
      { calls: [bench().subAgent([below])], usage },
      { text: "Above.", usage },
    ]);
    const told = recording.of("usage");
    const { turnCostUsd, hasNoContext = false } = bench().differs ?? {};
    const contexts = told.flatMap(({ context }) => context ?? []);
    // A sub-agent has a context of its own, which is not reported.
    const expected = hasNoContext ? 0 : turnCostUsd === undefined ? 2 : 1;
    assert.deepEqual(
      contexts.map(({ usedTokens }) => usedTokens),
      Array<number>(expected).fill(1050),
    );
    assert.ok(contexts.every(({ windowTokens }) => windowTokens > 1050));
    if (turnCostUsd !== undefined) return assertTurnUsage(told, turnCostUsd);
    assert.equal(told.length, 3);
    for (const { usage: used, costUsd, costIsEstimate } of told) {
      assert.deepEqual(used, {
        inputTokens: 600,
        outputTokens: 50,
        cacheReadTokens: 400,
        cacheWriteTokens: 0,
      });
      if (bench().differs?.hasNoPrices) assert.equal(costUsd, null);
      else assert.ok(Math.abs(costUsd! - 0.00267) < 1e-9);
      assert.equal(costIsEstimate, false);
    }
  });

  test("a refusal of the model fails the turn with its reason, and the next one works", async () => {
    const recording = await startSession(bench());
    await recording.play([{ status: 400 }]);
    const [end] = recording.of("turn_ended");
    assert.equal(end?.outcome, "failed");
    assert.match(end.reason ?? "", /400/);
    await recording.play([{ text: "Better." }]);
    assert.deepEqual(
      recording.of("turn_ended").map(({ outcome }) => outcome),
      ["failed", "completed"],
    );
  });

  test("a model that is busy is asked again", async () => {
    const recording = await startSession(bench());
    await recording.play([{ status: 429, times: 1, retryAfterSeconds: 1 }, { text: "Now." }]);
    assert.deepEqual(recording.messages(), ["Now."]);
    assert.equal(recording.of("turn_ended")[0]?.outcome, "completed");
  });

  test("what is not offered is refused by name, before anything runs", async () => {
    const recording = await startSession(bench());
    const steps = [{ text: "Never." }];
    const model = { providerId: "nobody", modelId: "nothing" };
    const refuses = (field: string) => (error: unknown) =>
      error instanceof NotOffered && error.field === field && error.message.length > 10;
    await assert.rejects(recording.prompt(steps, { model }), refuses("model"));
    await assert.rejects(recording.prompt(steps, { agent: "nobody" }), refuses("agent"));
    await assert.rejects(recording.prompt(steps, { options: { no: "x" } }), refuses("options"));
    await assert.rejects(
      recording.prompt(steps, { options: { [optionOf(bench())]: "no" } }),
      refuses("options"),
    );
    await assert.rejects(startSession(bench(), { model }), refuses("model"));
    assert.deepEqual(recording.events, []);
    await recording.play([{ text: "All the same." }]);
    assert.deepEqual(recording.messages(), ["All the same."]);
  });

  test("a prompt may name a model, a mode and a variant", async () => {
    const recording = await startSession(bench());
    await recording.play([{ text: "Other." }], { model: bench().otherModel });
    await recording.play([{ text: "Plan." }], { agent: "plan" });
    await recording.play([{ text: "Variant." }], {
      options: { [optionOf(bench())]: bench().variant },
    });
    assert.deepEqual(recording.messages(), ["Other.", "Plan.", "Variant."]);
  });

  test("sessions that work at once do not mix", async () => {
    const names = ["ash", "birch", "cedar"];
    const recordings = await Promise.all(
      names.map(() => startSession(bench(), { directory: bench().makeDirectory() })),
    );
    await Promise.all(
      recordings.map((recording, index) =>
        recording.play([
          { text: `${names[index]} one two`, paceMs: 20, calls: [bench().command("echo hi")] },
          { text: `${names[index]} done` },
        ]),
      ),
    );
    for (const [index, recording] of recordings.entries()) {
      const name = names[index];
      assert.deepEqual(recording.messages(), [`${name} one two`, `${name} done`]);
      assert.equal(recording.of("turn_ended").length, 1);
      assertWhole(recording);
    }
  });

  test("hostile text passes unchanged", async () => {
    const hostile =
      "\u001b[31mred\u001b[0m <script>alert(1)</script> \u202Eevil\u202C \u0007 &amp; end";
    const long = "x".repeat(200_000);
    const recording = await startSession(bench());
    await recording.play([{ text: hostile }]);
    await recording.play([{ text: long }]);
    assert.deepEqual(recording.messages(), [hostile, long]);
  });
}

const optionOf = (bench: Bench) => bench.differs?.option ?? "variant";

/** If an agent does not wait for its sub-agents, one that has finished earlier is reported and answered. */
const belowMs = (bench: Bench) => (bench.differs?.doesNotWait ? 1_000 : 0);

/** The usage of three model calls with equal usage. */
function assertTurnUsage(told: ReturnType<Recording["of"]>, turnCostUsd: number): void {
  assert.equal(told.length, 1);
  const [used] = told;
  assert.ok(used?.type === "usage");
  const usage = {
    inputTokens: 1800,
    outputTokens: 150,
    cacheReadTokens: 1200,
    cacheWriteTokens: 0,
  };
  assert.deepEqual(used.usage, usage);
  assert.ok(Math.abs(used.costUsd! - turnCostUsd) < 1e-9, String(used.costUsd));
}

/** Checks that pieces follow each other without a gap and add up to the whole text. */
function assertText(recording: Recording, kind: "message" | "thought", whole: string): void {
  let text = "";
  for (const piece of recording.of("text").filter((event) => event.kind === kind)) {
    assert.equal(piece.offset, text.length);
    text += piece.text;
  }
  assert.equal(text, whole);
}
