// Turns on the real opencode: prompts in order, each once; stopping them; what the model gets wrong.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { untilStatus } from "@hawser/testkit/host.ts";
import { assertRefused } from "../refusal.ts";
import { scenario, until, useWorld } from "../scenario.ts";
import {
  bash,
  logOf,
  outcomeOf,
  runTurn,
  saidIn,
  scripted,
  slowly,
  startSession,
  untilAsked,
  untilEnd,
  untilLogged,
  updatesOf,
} from "../session-steps.ts";

useWorld({ agents: true, hosts: 1 });

scenario(
  "A prompt is answered once the host has accepted it, and its turn is in the log from start to end",
  ["send_prompt.accepted", "general.accepted.return"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await runTurn(caller, sessionId, scripted("warm up", { text: "ready" }));
    const asked = performance.now();
    const { turnId, messageId, queued } = await caller.send_prompt({
      sessionId,
      text: scripted("work", { reasoning: "Hm.", text: "Slow answer.", delayMs: 3_000 }),
    });
    assert.ok(performance.now() - asked < 2_500, "answered while the model still holds its reply");
    assert.equal(queued, false);
    const summary = await caller.get_session_summary({ sessionId });
    assert.equal(summary.live?.status, "running");
    const events = await untilEnd(caller, sessionId, turnId);
    assert.deepEqual(
      events.map(({ update }) => update.sessionUpdate).filter((name) => name !== "usage_update"),
      [
        "turn_started",
        "user_message_chunk",
        "agent_thought_chunk",
        "agent_message_chunk",
        "turn_finished",
      ],
    );
    assert.equal(updatesOf(events, "turn_started")[0]!.messageId, messageId);
    assert.deepEqual(saidIn(events), ["Slow answer."]);
    const [usage] = updatesOf(events, "usage_update").slice(-1);
    assert.ok(usage!.usage.outputTokens > 0 && usage!.costUsd! > 0);
    const after = await caller.get_session_summary({ sessionId });
    assert.equal(after.live?.status, "idle");
    assert.equal(after.cost, usage!.costUsd);
    assert.deepEqual(after.usage, usage!.usage);
  },
);

scenario(
  "Prompts that arrive during a turn wait in order, one turn each",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const prompts = ["first", "second", "third"].map((word) =>
      scripted(word, { text: `${word} done`, delayMs: 700 }),
    );
    const accepted = [];
    for (const text of prompts) accepted.push(await caller.send_prompt({ sessionId, text }));
    assert.deepEqual(
      accepted.map(({ queued }) => queued),
      [false, true, true],
    );
    await untilEnd(caller, sessionId, accepted[2]!.turnId);
    const events = await logOf(caller, sessionId);
    assert.deepEqual(saidIn(events), ["first done", "second done", "third done"]);
    for (const { turnId } of accepted) {
      const own = events.filter((event) => event.turnId === turnId);
      assert.equal(updatesOf(own, "turn_started").length, 1);
      assert.equal(outcomeOf(own), "completed");
    }
    assert.equal(updatesOf(events, "prompt_queued").length, 2);
  },
);

scenario(
  "Prompts that wait are edited, moved, removed and sent now, and each runs as it was last changed",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const running = await caller.send_prompt({ sessionId, text: scripted("long", slowly()) });
    await untilLogged(caller, sessionId, "turn_started");
    const says = (word: string) => scripted(word, { text: `${word} done` });
    const ids: string[] = [];
    for (const word of ["first", "second", "third", "fourth"]) {
      ids.push((await caller.send_prompt({ sessionId, text: says(word) })).messageId);
    }
    const [first, second, third, fourth] = ids as [string, string, string, string];
    const { version, prompts } = await caller.list_queued_prompts({ sessionId });
    const { user } = await caller.whoami({});
    assert.deepEqual(
      prompts.map(({ messageId, text, by }) => [messageId, text, by?.userId ?? null]),
      ids.map((id, at) => [
        id,
        says(["first", "second", "third", "fourth"][at]!),
        user?.userId ?? null,
      ]),
    );
    const held = await caller.hold_queued_prompt({ sessionId, messageId: first });
    assert.equal(held.prompts[0]!.holds.length, 1);
    const edit = { sessionId, messageId: first, text: says("edited"), version };
    const edited = await caller.update_queued_prompt(edit);
    assert.deepEqual(
      [edited.prompts[0]!.text, edited.prompts[0]!.holds],
      [says("edited"), []],
      "who saves has finished editing",
    );
    const late = await caller.try("update_queued_prompt", { ...edit, text: "late" });
    assertRefused(late, 409, "prompt_changed");
    await caller.move_queued_prompt({ sessionId, messageId: third, beforeMessageId: first });
    await caller.remove_queued_prompt({ sessionId, messageId: second });
    const queue = await caller.send_queued_prompt_now({ sessionId, messageId: fourth });
    assert.deepEqual(
      queue.prompts.map(({ messageId }) => messageId),
      [fourth, third, first],
    );
    const overview = await caller.list_queued_prompts({ sessionId });
    assert.ok(overview.version >= queue.version);
    const events = await until(
      "the last prompt has run",
      30_000,
      () => logOf(caller, sessionId),
      (log) => updatesOf(log, "turn_finished").length === 4,
    );
    const stopped = events.filter(({ turnId }) => turnId === running.turnId);
    assert.equal(outcomeOf(stopped), "aborted");
    assert.deepEqual(saidIn(events).slice(-3), ["fourth done", "third done", "edited done"]);
    assert.deepEqual(
      updatesOf(events, "prompt_dropped").map(({ messageId, cause }) => [messageId, cause]),
      [[second, "removed"]],
    );
    const gone = await caller.try("send_queued_prompt_now", { sessionId, messageId: first });
    assertRefused(gone, 404, "not_found");
    assert.deepEqual((await caller.list_queued_prompts({ sessionId })).prompts, []);
  },
);

scenario("The twenty-second prompt finds the queue full", [], async ({ world, caller }) => {
  const { sessionId } = await startSession(caller, world.hosts[0]!);
  for (let i = 0; i < 21; i++) {
    await caller.send_prompt({ sessionId, text: scripted(`p${i}`, slowly()) });
    // Until its turn begins, the first prompt waits as well.
    if (i === 0) await untilLogged(caller, sessionId, "turn_started");
  }
  assertRefused(await caller.try("send_prompt", { sessionId, text: "more" }), 409, "queue_full");
  const { aborted, droppedPrompts } = await caller.abort_session({ sessionId });
  assert.deepEqual([aborted, droppedPrompts], [true, 20]);
  // The prompts are dropped before the turn ends.
  const events = await untilLogged(caller, sessionId, "turn_finished");
  assert.equal(updatesOf(events, "prompt_dropped").length, 20);
});

scenario(
  "A prompt that is repeated with its idempotency key runs once, and not at all without its host",
  ["send_prompt.once", "general.error.refused_state"],
  async ({ world, caller }) => {
    const host = await world.addHost();
    const { sessionId } = await startSession(caller, host);
    const prompt = { sessionId, text: scripted("only-once", { text: "once" }) };
    const all = await Promise.all(
      Array.from({ length: 8 }, () => caller.send_prompt(prompt, { idempotencyKey: "only-once" })),
    );
    assert.equal(new Set(all.map(({ turnId }) => turnId)).size, 1);
    const events = await untilEnd(caller, sessionId, all[0]!.turnId);
    assert.equal(updatesOf(events, "turn_started").length, 1);
    assert.equal(
      world.model!.requests.filter(({ prompt }) => prompt.includes("only-once")).length,
      1,
    );

    host.process.kill("SIGKILL");
    await untilStatus(caller, host.instanceId, "offline");
    assertRefused(
      await caller.try("send_prompt", { ...prompt, text: "late" }),
      409,
      "host_offline",
    );
  },
);

scenario(
  "A stopped turn is recorded as stopped, its command has ended, and the next prompt runs",
  ["abort_session.stops"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    assert.deepEqual(await caller.abort_session({ sessionId }), {
      sessionId,
      aborted: false,
      droppedPrompts: 0,
    });
    const streaming = await caller.send_prompt({ sessionId, text: scripted("stream", slowly()) });
    await until(
      "running",
      20_000,
      () => caller.get_session_summary({ sessionId }),
      ({ live }) => live?.status === "running",
    );
    assert.equal((await caller.abort_session({ sessionId })).aborted, true);
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, streaming.turnId)), "aborted");

    const marker = `sleep 987${Math.floor(Math.random() * 1000)}`;
    const shell = await caller.send_prompt({ sessionId, text: scripted("sleep", bash(marker)) });
    const request = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId: request.requestId, answer: "once" });
    await until(
      "the command",
      20_000,
      async () => running(marker),
      (count) => count > 0,
    );
    await caller.abort_session({ sessionId });
    assert.equal(outcomeOf(await untilEnd(caller, sessionId, shell.turnId)), "aborted");
    await until(
      "its end",
      5_000,
      async () => running(marker),
      (count) => count === 0,
    );

    const next = await runTurn(caller, sessionId, scripted("next", { text: "still here" }));
    assert.deepEqual([outcomeOf(next), saidIn(next)], ["completed", ["still here"]]);
  },
);

scenario(
  "A turn whose model fails says why, and a busy model is asked again",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const failed = await runTurn(caller, sessionId, scripted("bad", { status: 400 }));
    assert.equal(outcomeOf(failed), "failed");
    assert.ok(updatesOf(failed, "turn_finished")[0]!.reason);
    const retried = await runTurn(
      caller,
      sessionId,
      scripted("busy", { status: 429, times: 1, text: "at last" }),
    );
    assert.equal(outcomeOf(retried), "completed");
    assert.deepEqual(saidIn(retried), ["at last"]);
  },
);

scenario(
  "A given mode applies to its turn only",
  ["send_prompt.agent.used"],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const planned = await runTurn(caller, sessionId, scripted("think-first", { text: "a plan" }), {
      agent: "plan",
    });
    assert.equal(updatesOf(planned, "turn_started")[0]!.agent, "plan");
    await runTurn(caller, sessionId, scripted("then-build", { text: "built" }));
    const asked = (words: string) =>
      world.model!.requests.find(({ prompt }) => prompt.includes(words))!;
    // Opencode tells the model of its plan mode in the messages it sends.
    assert.match(JSON.stringify(asked("think-first").body), /plan mode/i);
  },
);

scenario(
  "Hostile text arrives unchanged as plain JSON, and a line of ten megabytes is cut with a reference to the whole",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const hostile = `\u001b[31m\u001b]0;title\u0007<img src=x onerror=alert(1)> [x](javascript:alert(1)) \u202eright`;
    const events = await runTurn(caller, sessionId, scripted("hostile", { text: hostile }));
    assert.deepEqual(saidIn(events), [hostile]);

    const { turnId } = await caller.send_prompt({
      sessionId,
      text: scripted("long line", bash("head -c 10000000 /dev/zero | tr '\\0' 'x'"), {
        text: "done",
      }),
    });
    const request = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId: request.requestId, answer: "once" });
    const turn = await untilEnd(caller, sessionId, turnId);
    assert.equal(outcomeOf(turn), "completed");
    for (const event of turn) assert.ok(JSON.stringify(event).length <= 128 * 1024 + 1_000);
    assert.ok(updatesOf(turn, "tool_call_update").length > 0);
  },
);

scenario(
  "A sub-agent's work is part of the session's log, under the call that started it",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    const inner = scripted("look around", { text: "I looked." });
    const input = { description: "look", prompt: inner, subagent_type: "general" };
    const text = scripted("delegate", { calls: [{ tool: "task", input }] }, { text: "It looked." });
    const { turnId } = await caller.send_prompt({ sessionId, text });
    const { requestId } = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId, answer: "once" });
    const events = await untilEnd(caller, sessionId, turnId);
    assert.equal(outcomeOf(events), "completed");
    const messages = updatesOf(events, "agent_message_chunk");
    const byIts = messages.find(({ content }) => content.text === "I looked.")!;
    const [call] = updatesOf(events, "tool_call");
    assert.equal(byIts.parentToolCallId, call!.toolCallId);
    assert.equal(messages.at(-1)!.parentToolCallId, null);
  },
);

scenario(
  "The agent's environment contains no secret of the daemon",
  [],
  async ({ world, caller }) => {
    const host = world.hosts[0]!;
    const { sessionId } = await startSession(caller, host);
    const { turnId } = await caller.send_prompt({
      sessionId,
      text: scripted("look", bash("env"), { text: "seen" }),
    });
    const { requestId } = await untilAsked(caller, sessionId);
    await caller.answer_permission({ requestId, answer: "once" });
    const events = await untilEnd(caller, sessionId, turnId);
    const output = JSON.stringify(updatesOf(events, "tool_call_update"));
    assert.match(output, /HOME=/);
    const secrets = [readFileSync(`${host.stateDirectory}/credentials.json`, "utf8")]
      .flatMap((text) => Object.values(JSON.parse(text) as Record<string, string>))
      .filter((value) => typeof value === "string" && value.length > 30);
    assert.ok(secrets.length > 0);
    for (const secret of secrets) assert.ok(!output.includes(secret));
    assert.doesNotMatch(output, /OPENCODE_SERVER_PASSWORD=[^\s]/);
  },
);

scenario("An ended session accepts no prompt", ["send_prompt.ended"], async ({ world, caller }) => {
  const { sessionId } = await startSession(caller, world.hosts[0]!);
  await caller.end_session({ sessionId });
  assertRefused(await caller.try("send_prompt", { sessionId, text: "hi" }), 409, "session_ended");
});

scenario(
  "wait_for_session returns when the turn is over, when something is asked, and at its timeout",
  [],
  async ({ world, caller }) => {
    const { sessionId } = await startSession(caller, world.hosts[0]!);
    await caller.send_prompt({ sessionId, text: scripted("wait", bash("true"), { text: "over" }) });
    const asked = await caller.wait_for_session({ sessionId, timeoutSeconds: 25 });
    assert.equal(asked.timedOut, false);
    assert.equal(asked.pendingRequests.length, 1);
    const { requestId } = asked.pendingRequests[0]!;
    await caller.answer_permission({ requestId, answer: "once" });
    const over = await until(
      "the end",
      20_000,
      () => caller.wait_for_session({ sessionId, timeoutSeconds: 20 }),
      ({ turnOutcome, pendingRequests }) =>
        turnOutcome === "completed" && pendingRequests.length === 0,
    );
    assert.equal(over.timedOut, false);
    await untilLogged(caller, sessionId, "turn_finished");
    await caller.send_prompt({ sessionId, text: scripted("again", slowly()) });
    const late = await caller.wait_for_session({ sessionId, timeoutSeconds: 1 });
    assert.equal(late.timedOut, true);
    await caller.abort_session({ sessionId });
  },
);

/** How many processes have these words in their command line, leaving out shells that quote them. */
function running(words: string): number {
  let count = 0;
  for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
      if (line === words) count++;
    } catch {
      // The process ended meanwhile.
    }
  }
  return count;
}
