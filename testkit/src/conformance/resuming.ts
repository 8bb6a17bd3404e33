// The daemon stops and starts again: no event is repeated and none is missing.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { SessionGone } from "@hawser/daemon/drivers/driver.ts";
import { placeIn, type Bench } from "./bench.ts";
import { assertWhole, never, startSession } from "./recording.ts";

export function resumeCases(bench: () => Bench): void {
  test("a session that was idle goes on after the daemon was away", async () => {
    const recording = await startSession(bench());
    await recording.play([{ text: "Before." }]);
    const told = recording.events.length;
    await bench().reopen();
    await recording.resume();
    await sleep(300);
    assert.equal(recording.events.length, told, recording.describe());
    await recording.play([{ text: "After." }]);
    assert.deepEqual(recording.messages(), ["Before.", "After."]);
  });

  test("a turn goes on while the daemon is away, and is reported to its end afterwards", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    await recording.prompt([
      { text: "One.", calls: [bench().command("echo 1")] },
      { text: "Two two two two.", paceMs: 100, calls: [bench().command("echo 2")] },
      { text: "Three three three three.", paceMs: 100, calls: [bench().command("echo 3")] },
      { text: "Four four four four.", paceMs: 200 },
    ]);
    await recording.until("a first call's end", (event) => {
      return event.type === "update" && event.update.sessionUpdate === "tool_call_update";
    });
    await bench().reopen();
    await sleep(300);
    await recording.resume();
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    assert.deepEqual(recording.messages(), [
      "One.",
      "Two two two two.",
      "Three three three three.",
      "Four four four four.",
    ]);
    const calls = recording.updates().filter((update) => update.sessionUpdate === "tool_call");
    assert.equal(calls.length, 3);
    assert.equal(recording.of("usage").length, 4);
    assert.equal(recording.of("turn_ended").length, 1);
    assertWhole(recording);
  });

  test("a turn that ended while the daemon was away is reported", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    await recording.prompt([{ text: "Soon over.", delayMs: 300 }]);
    await bench().reopen();
    await sleep(3_000);
    await recording.resume();
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    assert.deepEqual(recording.messages(), ["Soon over."]);
  });

  test("from any cursor of a turn, exactly the rest is reported", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    const below = bench().subAgent([{ calls: [bench().command("echo below")] }, { text: "B." }]);
    const turnId = "turn-of-cursors";
    await recording.play(
      [
        { reasoning: "Hm.", text: "One.", calls: [bench().command("echo 1"), bench().plan("P")] },
        { calls: [below] },
        { text: "Three." },
      ],
      { turnId },
    );
    const lasting = recording.events.filter(({ type }) => type !== "text");
    recording.session.release();
    for (const [index, event] of lasting.entries()) {
      if (event.cursor === undefined || event.type === "turn_ended") continue;
      const from = recording.events.length;
      await recording.resume({ cursor: event.cursor, turnId });
      await recording.until("its end", (each) => {
        return each.type === "turn_ended" && recording.events.indexOf(each) >= from;
      });
      recording.session.release();
      const again = recording.events.slice(from).filter(({ type }) => type !== "text");
      const told = (events: typeof again) => events.map((each) => ({ ...each, cursor: undefined }));
      assert.deepEqual(told(again), told(lasting.slice(index + 1)), `after event ${index}`);
    }
  });

  test("a permission that waited is still answerable after the daemon was away", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    await recording.prompt([{ calls: [bench().asking("touch late.txt")] }, { text: "Late." }]);
    const { key } = await recording.untilType("request");
    await bench().reopen();
    await recording.resume();
    assert.equal(recording.of("request").length, 1);
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
    assert.deepEqual(recording.messages(), ["Late."]);
    assertWhole(recording);
  });

  test("a question that was asked while the daemon was away is reported afterwards", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    await recording.prompt([
      { delayMs: 500, calls: [bench().question("Now?", ["Yes"])] },
      { text: "Good." },
    ]);
    await bench().reopen();
    await sleep(2_000);
    await recording.resume();
    const { key } = await recording.untilType("request");
    assert.equal(await recording.session.answer(key, { dismiss: true }, never), "accepted");
    assert.equal((await recording.untilType("turn_ended")).outcome, "completed");
  });

  test("a turn that ends with the daemon is reported as interrupted, and its request is gone", async (t) => {
    if (!bench().driver().endsWithDaemon) return t.skip("Its turns go on.");
    const recording = await startSession(bench());
    await recording.prompt([
      { text: "One.", calls: [bench().command("echo 1")] },
      { text: "Two.", calls: [bench().asking("touch late.txt")] },
    ]);
    const { key } = await recording.untilType("request");
    await bench().reopen();
    assert.deepEqual(bench().driver().liveStarts(), []);
    assert.deepEqual(recording.of("turn_ended"), []);
    await recording.resume();
    const end = await recording.untilType("turn_ended");
    assert.equal(end.outcome, "interrupted");
    assert.ok(end.reason);
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "gone");
    const ends = recording.updates().filter((one) => one.sessionUpdate === "tool_call_update");
    assert.deepEqual(
      ends.map(({ status }) => status),
      ["completed", "failed"],
    );
    await recording.play([{ text: "Three." }]);
    assert.deepEqual(recording.messages(), ["One.", "Two.", "Three."]);
    assertWhole(recording);
  });

  test("a prompt that never reached the agent is reported as interrupted", async () => {
    const recording = await startSession(bench());
    await recording.play([{ text: "Before." }]);
    await bench().reopen();
    await recording.resume({ turnId: "turn-that-never-was" });
    const end = await recording.until("interrupted", (event) => {
      return event.type === "turn_ended" && event.outcome === "interrupted" && event;
    });
    assert.ok(end.reason);
    assert.deepEqual(recording.messages(), ["Before."]);
  });

  test("a turn whose agent died with the daemon away is reported as interrupted", async () => {
    const recording = await startSession(bench());
    await recording.prompt([{ calls: [bench().asking("touch never.txt")] }, { text: "Never." }]);
    const { key } = await recording.untilType("request");
    await bench().reopen();
    await bench().killAgent();
    await recording.resume();
    const end = await recording.untilType("turn_ended");
    assert.equal(end.outcome, "interrupted");
    assert.ok(end.reason);
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "gone");
    await recording.play([{ text: "Again." }]);
    assert.deepEqual(recording.messages(), ["Again."]);
  });

  test("a session that the agent does not know is gone", async () => {
    const place = placeIn(bench().directory);
    const kept = {
      ...place,
      handle: "ses_unknown",
      cursor: null,
      turnId: null,
      messageId: null,
      openRequests: [],
    };
    await assert.rejects(
      bench()
        .driver()
        .resume(kept, () => {}, never),
      SessionGone,
    );
  });

  test("a closed driver leaves the agent at work and says nothing more", async (t) => {
    if (bench().driver().endsWithDaemon) return t.skip("Its turns end with the daemon.");
    const recording = await startSession(bench());
    await recording.prompt([{ text: "a b c d e f g h i j k l", paceMs: 100 }]);
    await recording.untilType("text");
    await bench().driver().close();
    const told = recording.events.length;
    await sleep(300);
    assert.equal(recording.events.length, told);
    assert.equal(bench().isAgentAlive(), true);
    await bench().reopen();
    assert.equal(bench().driver().liveStarts().length, 1);
    await recording.resume();
    await recording.untilType("turn_ended");
    assert.deepEqual(recording.messages(), ["a b c d e f g h i j k l"]);
  });
}
