// Stopping: a turn, a session, and every process of the kind.
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "node:test";
import { AgentNotReady, SessionGone } from "@hawser/daemon/drivers/driver.ts";
import { promptOf, type Bench } from "./bench.ts";
import { assertWhole, never, startSession } from "./recording.ts";

const slow = { text: "a b c d e f g h i j k l m n o p q r s t u v w x y z ".repeat(4), paceMs: 50 };

export function endingCases(bench: () => Bench): void {
  test("an abort while text is written keeps what was written", async () => {
    const recording = await startSession(bench());
    await recording.prompt([slow]);
    await recording.untilType("text");
    await recording.session.abort(never);
    assert.equal((await recording.untilType("turn_ended")).outcome, "aborted");
    const [message] = recording.messages();
    assert.ok(message && slow.text.startsWith(message) && message.length < slow.text.length);
    await sleep(1_000);
    assert.equal(recording.of("turn_ended").length, 1);
    assert.equal(recording.events.at(-1)?.type, "turn_ended");
  });

  test("an abort while a permission waits ends the turn, and the answer is gone", async () => {
    const recording = await startSession(bench());
    await recording.prompt([{ calls: [bench().asking("touch x.txt")] }, { text: "Never." }]);
    const { key } = await recording.untilType("request");
    await recording.session.abort(never);
    assert.equal((await recording.untilType("turn_ended")).outcome, "aborted");
    assert.equal(await recording.session.answer(key, { permission: "once" }, never), "gone");
    assert.deepEqual(recording.of("request_gone"), []);
    await recording.play([{ text: "Next." }]);
    assert.deepEqual(recording.messages(), ["Next."]);
  });

  test("an abort right after the prompt ends the turn, and nothing of it is reported later", async () => {
    const recording = await startSession(bench());
    await recording.prompt([slow]);
    await recording.session.abort(never);
    assert.equal((await recording.untilType("turn_ended", 30_000)).outcome, "aborted");
    const told = recording.messages().length;
    await recording.play([{ text: "Next." }]);
    assert.deepEqual(recording.messages().slice(told), ["Next."]);
  });

  test("a prompt that is withdrawn on its way has no part in the next turn", async () => {
    const recording = await startSession(bench());
    for (const delayMs of [0, 5, 20]) {
      const taking = new AbortController();
      const given = recording.session.prompt(promptOf([slow]), taking.signal);
      await sleep(delayMs);
      taking.abort(new Error("Taken back."));
      // The agent may have accepted the prompt just before.
      await given.catch(() => {});
      await recording.session.abort(never);
      // If the agent has accepted the prompt, the turn's end is reported.
      await sleep(300);
      const told = recording.messages().length;
      await recording.play([{ text: "Next." }]);
      assert.deepEqual(recording.messages().slice(told), ["Next."]);
    }
    assertWhole(recording);
  });

  test("an abort when nothing runs says nothing", async () => {
    const recording = await startSession(bench());
    await recording.session.abort(never);
    await sleep(1_000);
    assert.deepEqual(recording.events, []);
    await recording.play([{ text: "Still here." }]);
    assert.equal(recording.of("turn_ended").length, 1);
    await recording.session.abort(never);
    await sleep(1_000);
    assert.equal(recording.of("turn_ended").length, 1);
  });

  test("a prompt right after an abort ends with its own end", async () => {
    const recording = await startSession(bench());
    for (const word of ["First.", "Second.", "Third."]) {
      await recording.prompt([slow]);
      const before = recording.events.length;
      await recording.until("text", (event) => {
        return event.type === "text" && recording.events.indexOf(event) >= before && event;
      });
      await recording.session.abort(never);
      await recording.until("its end", (event) => {
        return event.type === "turn_ended" && recording.events.indexOf(event) >= before && event;
      });
      const events = await recording.play([{ text: word, delayMs: 300 }]);
      const end = events.at(-1);
      assert.ok(end?.type === "turn_ended" && end.outcome === "completed");
      assert.equal(recording.messages().at(-1), word);
    }
    assert.equal(recording.of("turn_ended").length, 6);
    assertWhole(recording);
  });

  test("a session is renamed without a word back", async () => {
    const recording = await startSession(bench(), { title: null });
    await recording.session.rename("Another name", never);
    await recording.play([{ text: "Renamed." }]);
    assert.deepEqual(recording.of("title"), []);
  });

  test("a session that has ended is gone, and so is its turn", async () => {
    const recording = await startSession(bench());
    const other = await startSession(bench());
    await recording.prompt([slow]);
    await recording.untilType("text");
    await recording.session.end(never);
    const told = recording.events.length;
    await assert.rejects(recording.resume(), SessionGone);
    await other.play([{ text: "Not me." }]);
    assert.equal(recording.events.length, told);
  });

  test("a released session reports nothing more", async () => {
    const recording = await startSession(bench());
    await recording.prompt([slow]);
    await recording.untilType("text");
    recording.session.release();
    const told = recording.events.length;
    await sleep(500);
    assert.equal(recording.events.length, told);
    await recording.resume();
    await recording.session.abort(never);
    await recording.untilType("turn_ended");
  });

  test("a restart reports every session as lost, and the next prompt works", async () => {
    const [busy, idle] = [await startSession(bench()), await startSession(bench())];
    await busy.prompt([slow]);
    await busy.untilType("text");
    const [before] = bench().driver().liveStarts();
    await bench().driver().restart(never);
    for (const recording of [busy, idle]) {
      await recording.untilType("lost", 5_000);
      assert.equal(recording.events.at(-1)?.type, "lost");
      await assert.rejects(recording.prompt([{ text: "No." }]), AgentNotReady);
      await recording.resume();
      await recording.play([{ text: "Back again." }]);
      assert.equal(recording.messages().at(-1), "Back again.");
    }
    assert.ok(!bench().driver().liveStarts().includes(before!));
  });

  test("an agent that dies is lost to all sessions within 5 s, and comes back", async () => {
    const [busy, idle] = [await startSession(bench()), await startSession(bench())];
    await busy.prompt([slow]);
    await busy.untilType("text");
    await bench().killAgent();
    for (const recording of [busy, idle]) {
      await recording.untilType("lost", 5_000);
      await recording.resume();
      await recording.play([{ text: "Alive." }]);
    }
    assert.deepEqual(busy.of("turn_ended").length, 1);
  });
}
