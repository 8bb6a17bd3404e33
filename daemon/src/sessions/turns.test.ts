// Prompts of a session: their order, how their turns end, and which choices apply to the next one.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { asks, begin, codeOf, makeSmallHost, names, script } from "@hawser/testkit/small-host.ts";

test("at most twenty prompts wait, in order; an abort drops them and records that", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const first = await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  const { requestId, shownHash } = await host.until(sessionId, "request_raised");
  const waiting = [];
  for (let count = 0; count < 20; count++) {
    waiting.push(await host.must("send_prompt", { sessionId, text: `later ${count}` }));
  }
  assert.ok(waiting.every(({ queued }) => queued));
  const refused = await host.ask("send_prompt", { sessionId, text: "too many" });
  assert.equal(codeOf(refused), "queue_full");
  assert.match(JSON.stringify(refused), /20 prompts wait already\. .* call abort_session/);
  assert.equal((await host.must("describe_session", { sessionId })).status, "waiting");
  const aborted = await host.must("abort_turn", { sessionId });
  assert.deepEqual(aborted, { aborted: true, droppedPrompts: 20 });
  const ended = host
    .entries(sessionId)
    .filter(({ update }) =>
      ["turn_finished", "prompt_dropped", "request_settled"].includes(update.sessionUpdate),
    );
  const dropped = ended.filter(({ update }) => update.sessionUpdate === "prompt_dropped");
  assert.deepEqual(
    dropped.map(({ turnId }) => turnId),
    waiting.map(({ turnId }) => turnId),
  );
  const finished = ended.find(({ update }) => update.sessionUpdate === "turn_finished")!;
  assert.equal(finished.turnId, first.turnId);
  assert.ok(
    finished.update.sessionUpdate === "turn_finished" && finished.update.outcome === "aborted",
  );
  const late = { sessionId, requestId, shownHash, answer: "once" as const, answers: null };
  assert.deepEqual(await host.must("answer_request", late), { status: "already_resolved" });
  assert.deepEqual(await host.must("abort_turn", { sessionId }), {
    aborted: false,
    droppedPrompts: 0,
  });
  await host.close();
});

test("queued prompts run one after the other, each as its own turn", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const turns: string[] = [];
  for (const text of [script([{ text: "one", delayMs: 50 }]), "two", "three"]) {
    turns.push((await host.must("send_prompt", { sessionId, text })).turnId);
  }
  await host.until(sessionId, "turn_finished", (_update, { turnId }) => turnId === turns[2]);
  const order = host
    .entries(sessionId)
    .filter(({ update }) => update.sessionUpdate.startsWith("turn_"))
    .map(({ update, turnId }) => `${update.sessionUpdate} ${turns.indexOf(turnId!)}`);
  assert.deepEqual(
    order,
    [0, 1, 2].flatMap((turn) => [`turn_started ${turn}`, `turn_finished ${turn}`]),
  );
  await host.close();
});

test("the next prompt is delivered even if a turn ends right after its own was accepted", async () => {
  using small = makeSmallHost();
  let gate = Promise.withResolvers<void>();
  let steps = 0;
  const { host, sessionId } = await begin(small, {
    wrapDriver: (driver) => ({
      ...driver,
      async start(place, sink, signal) {
        const session = await driver.start(place, sink, signal);
        const endSoon = async () => {
          for (let step = 0; step < steps; step++) await Promise.resolve();
          sink({ type: "turn_ended", outcome: "completed", reason: null });
        };
        return {
          ...session,
          async prompt() {
            await gate.promise;
            void endSoon();
          },
        };
      },
    }),
  });
  // The delays cover every moment between the agent's event and the last check of the queue.
  for (; steps < 25; steps++) {
    gate = Promise.withResolvers<void>();
    await host.must("send_prompt", { sessionId, text: "first" });
    const { turnId } = await host.must("send_prompt", { sessionId, text: "second" });
    gate.resolve();
    await host.until(sessionId, "turn_finished", (_update, entry) => entry.turnId === turnId);
  }
  await host.close();
});

test("an abort does not wait for a prompt that is still on its way", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small, {
    wrapDriver: (driver) => ({
      ...driver,
      async start(...given) {
        const session = await driver.start(...given);
        return { ...session, prompt: () => new Promise(() => {}) };
      },
    }),
  });
  await host.must("send_prompt", { sessionId, text: "hello" });
  await host.until(sessionId, "turn_started");
  const before = performance.now();
  assert.equal((await host.must("abort_turn", { sessionId })).aborted, true);
  assert.ok(performance.now() - before < 3_000);
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "aborted");
  await host.close();
});

test("an agent that dies ends its turn and its requests at once; the next prompt tries again", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  await host.must("send_prompt", { sessionId, text: script([asks(["ls"])]) });
  await host.until(sessionId, "request_raised");
  host.driver.crash();
  assert.deepEqual(names(host, sessionId).slice(-3), [
    "request_settled",
    "turn_finished",
    "session_status",
  ]);
  const status = await host.until(sessionId, "session_status", (update) => update.reason !== null);
  assert.equal(status.status, "error");
  assert.equal((await host.must("describe_session", { sessionId })).status, "stopped");
  await host.must("send_prompt", { sessionId, text: "again" });
  const finished = await host.until(
    sessionId,
    "turn_finished",
    ({ outcome }) => outcome === "completed",
  );
  assert.equal(finished.reason, null);
  const back = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "session_status" ? [update.status] : []));
  assert.deepEqual(back, ["active", "error", "active"]);
  await host.close();
});

test("a restart of the kind detaches its sessions, and the next prompt resumes them", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  await host.must("send_prompt", { sessionId, text: script([{ text: "slow", delayMs: 5_000 }]) });
  await host.until(sessionId, "turn_started");
  const { detachedSessionIds } = await host.must("restart_agent", { kind: "opencode" });
  assert.deepEqual(detachedSessionIds, [sessionId]);
  assert.equal((await host.until(sessionId, "turn_finished")).outcome, "interrupted");
  const last = host.entries(sessionId).at(-1)!.update;
  assert.ok(last.sessionUpdate === "session_status" && last.status === "detached");
  await host.must("send_prompt", { sessionId, text: "again" });
  await host.until(sessionId, "turn_finished", ({ outcome }) => outcome === "completed");
  assert.equal(codeOf(await host.ask("restart_agent", { kind: "codex" })), "agent_not_ready");
  await host.close();
});

test("the same command id accepts one prompt", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const commandId = randomUUID();
  const asked = () => host.ask("send_prompt", { sessionId, text: "once" }, commandId);
  const outcomes = [...(await Promise.all([asked(), asked()])), await asked()];
  for (const outcome of outcomes) assert.deepEqual(outcome, outcomes[0]);
  await host.until(sessionId, "turn_finished");
  assert.equal(names(host, sessionId).filter((name) => name === "turn_started").length, 1);
  await host.close();
});

test("model and options apply to later prompts, the mode does not; what the agent does not offer is refused", async () => {
  using small = makeSmallHost();
  const { host, sessionId } = await begin(small);
  const cases = [
    [{ model: { providerId: "scripted", modelId: "x" } }, "model"],
    [{ options: { variant: "x" } }, "options.variant"],
    [{ agent: "x" }, "agent"],
  ] as const;
  for (const [changes, field] of cases) {
    const outcome = await host.ask("send_prompt", { sessionId, text: "x", ...changes });
    assert.ok(outcome && "refusal" in outcome);
    assert.deepEqual([outcome.refusal.code, outcome.refusal.field], ["invalid_input", field]);
  }
  const model = { providerId: "scripted", modelId: "script-2" };
  const first = { sessionId, text: "x", model, agent: "plan", options: { variant: "high" } };
  assert.deepEqual((await host.must("send_prompt", first)).model, model);
  const second = await host.must("send_prompt", { sessionId, text: "y" });
  assert.deepEqual(second.model, model);
  await host.until(sessionId, "turn_finished", (_, { turnId }) => turnId === second.turnId);
  const modes = host
    .entries(sessionId)
    .flatMap(({ update }) => (update.sessionUpdate === "turn_started" ? [update.agent] : []));
  assert.deepEqual(modes, ["plan", null]);
  assert.deepEqual(host.journal.driven.get(sessionId)!.options, { variant: "high" });
  await host.close();
});
