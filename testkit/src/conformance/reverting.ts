// Reverting a conversation, for the kinds that can.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Bench } from "./bench.ts";
import { never, startSession } from "./recording.ts";

export function revertCases(bench: () => Bench): void {
  const can = () => bench().driver().abilities.revert === true;

  test("what is claimed is there", async () => {
    const { session } = await startSession(bench());
    assert.equal(session.revert !== undefined, can());
  });

  test("it goes back to a message, and to none that it never had", async (t) => {
    if (!can()) return t.skip("This kind cannot go back.");
    const recording = await startSession(bench());
    const { session } = recording;
    const say = async (text: string) => {
      const messageId = `message ${text}`;
      await recording.play([{ text }], { messageId });
      return messageId;
    };
    const first = await say("One.");
    const second = await say("Two.");
    assert.equal(await session.revert!("never sent", never), "unknown");
    assert.equal(await session.revert!(second, never), "reverted");
    // The next prompt follows the first one, and can be reverted too.
    const third = await say("Three.");
    assert.deepEqual(recording.messages(), ["One.", "Two.", "Three."]);
    assert.equal(await session.revert!(second, never), "unknown");
    assert.equal(await session.revert!(first, never), "reverted");
    await say("Four.");
    assert.equal(await session.revert!(third, never), "unknown");
  });

  test("a revert lasts, whichever process ends before and after it", async (t) => {
    if (!can()) return t.skip("This kind cannot go back.");
    const recording = await startSession(bench());
    const known = ["One.", "Two.", "Three.", "Four.", "Five."];
    const play = async (text: string) => {
      await recording.play([{ text }], { messageId: `kept ${text}` });
      const received = bench().received!();
      return known.filter((each) => received.includes(each));
    };
    const awayAndBack = async () => {
      await bench().reopen();
      await recording.resume();
    };
    await play("One.");
    assert.deepEqual(await play("Two."), ["One.", "Two."]);
    await awayAndBack();
    assert.equal(await recording.session.revert!("kept Two.", never), "reverted");
    assert.deepEqual(await play("Three."), ["One.", "Three."]);
    await awayAndBack();
    assert.deepEqual(await play("Four."), ["One.", "Three.", "Four."]);
    assert.equal(await recording.session.revert!("kept Four.", never), "reverted");
    assert.equal(await recording.session.revert!("kept One.", never), "reverted");
    await awayAndBack();
    assert.deepEqual(await play("Five."), ["Five."]);
    assert.deepEqual(recording.messages(), known);
  });
}
