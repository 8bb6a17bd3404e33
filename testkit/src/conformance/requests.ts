// Requests of an agent, and their answers.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bench } from "./bench.ts";
import { assertWhole, never, startSession } from "./recording.ts";

export function requestCases(bench: () => Bench): void {
  test("a permission shows the exact command and the exact rule, after the call it is about", async () => {
    const recording = await startSession(bench());
    const command = "touch made.txt && touch second.txt";
    await recording.prompt([{ calls: [bench().asking(command)] }, { text: "Made." }]);
    const request = await recording.untilType("request");
    assert.ok("permission" in request.asked);
    const { title, detail, alwaysRules } = request.asked.permission;
    assert.ok(title.length > 0);
    assert.deepEqual({ detail, alwaysRules }, bench().shown(command));
    const call = recording.updates().find((update) => update.sessionUpdate === "tool_call");
    assert.equal(request.toolCallId, call?.toolCallId);
    assert.equal(
      await recording.session.answer(request.key, { permission: "once" }, never),
      "accepted",
    );
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    const end = recording.updates().find((update) => update.sessionUpdate === "tool_call_update");
    assert.equal(end?.status, "completed");
    assert.deepEqual(recording.of("request_gone"), []);
    assertWhole(recording);
  });

  test("`once` is once: the same command is asked about again", async () => {
    const recording = await startSession(bench());
    const call = bench().asking("touch again.txt");
    await recording.prompt([{ calls: [call] }, { calls: [call] }, { text: "Twice." }]);
    const first = await recording.untilType("request");
    await recording.session.answer(first.key, { permission: "once" }, never);
    const second = await recording.until(
      "second request",
      (event) => event.type === "request" && event.key !== first.key && event,
    );
    await recording.session.answer(second.key, { permission: "once" }, never);
    await recording.untilType("turn_ended");
    assert.equal(recording.of("request").length, 2);
  });

  test("a rejected permission fails its call, and the turn goes on", async () => {
    const recording = await startSession(bench());
    await recording.prompt([{ calls: [bench().asking("touch no.txt")] }, { text: "Then not." }]);
    const { key } = await recording.untilType("request");
    assert.equal(await recording.session.answer(key, { permission: "reject" }, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    const end = recording.updates().find((update) => update.sessionUpdate === "tool_call_update");
    assert.equal(end?.status, "failed");
    assert.match(JSON.stringify(end.content), /rejected/);
    assert.deepEqual(recording.messages(), ["Then not."]);
  });

  test("a question shows its choices and takes the answer", async () => {
    const recording = await startSession(bench());
    await recording.prompt([
      { calls: [bench().question("Which colour?", ["Red", "Blue"])] },
      { text: "Thanks." },
    ]);
    const request = await recording.untilType("request");
    assert.ok("questions" in request.asked);
    const [asked] = request.asked.questions;
    assert.equal(asked?.question, "Which colour?");
    assert.deepEqual(
      asked.options.map(({ label }) => label),
      ["Red", "Blue"],
    );
    assert.equal(asked.multiple, false);
    const answer = { answers: [["Blue"]] };
    assert.equal(await recording.session.answer(request.key, answer, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    const end = recording.updates().find((update) => update.sessionUpdate === "tool_call_update");
    assert.match(JSON.stringify(end?.content), /Blue/);
  });

  test("a dismissed question lets the turn go on", async () => {
    const recording = await startSession(bench());
    await recording.prompt([
      { calls: [bench().question("Really?", ["Yes", "No"])] },
      { text: "Never mind." },
    ]);
    const { key } = await recording.untilType("request");
    assert.equal(await recording.session.answer(key, { dismiss: true }, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    assert.deepEqual(recording.messages(), ["Never mind."]);
  });

  test("of two answers the second one is gone", async () => {
    const recording = await startSession(bench());
    await recording.prompt([{ calls: [bench().asking("touch a.txt")] }, { text: "Done." }]);
    const { key } = await recording.untilType("request");
    const answers = await Promise.all([
      recording.session.answer(key, { permission: "once" }, never),
      recording.session.answer(key, { permission: "reject" }, never),
    ]);
    assert.deepEqual(answers, ["accepted", "gone"]);
    await recording.untilType("turn_ended");
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "gone");
  });

  test("what a sub-agent asks comes to its session, and is answered there", async () => {
    const recording = await startSession(bench());
    const below = bench().subAgent([
      { calls: [bench().asking("touch below.txt")] },
      { text: "Below." },
    ]);
    await recording.prompt([{ calls: [below] }, { text: "Above." }]);
    const { key, toolCallId } = await recording.untilType("request");
    const inner = recording.updates().findLast((update) => update.sessionUpdate === "tool_call");
    assert.equal(toolCallId, inner?.toolCallId);
    assert.notEqual(inner?.parentToolCallId, null);
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    const told = ["Below.", "Above."];
    assert.deepEqual(recording.messages(), bench().differs?.doesNotWait ? told.toReversed() : told);
  });

  test("commands that the policy allows are not asked about, a sub-agent's neither", async () => {
    const recording = await startSession(bench());
    await recording.play([
      { calls: [bench().command("echo above")] },
      { calls: [bench().subAgent([{ calls: [bench().command("echo below")] }, { text: "B." }])] },
      { text: "A." },
    ]);
    assert.deepEqual(recording.of("request"), []);
  });
}
