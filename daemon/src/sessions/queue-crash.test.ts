// Kills the daemon before and after each of its commits while prompts wait, are held, changed and sent now. The next
// daemon is asked again what was not answered. What was accepted takes effect once.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import type { CommandOutcome, HostCommand, PayloadOf } from "@hawser/host-protocol";
import { killAt } from "@hawser/testkit/killed-journal.ts";
import { asks, makeSmallHost, script, wanted } from "@hawser/testkit/small-host.ts";
import type { OpenHost } from "@hawser/testkit/small-host.ts";

const stride = process.env["HAWSER_LONG"] === "1" ? 1 : 3;

const prompts = {
  first: script([asks(["ls"])], "first"),
  edited: script([{ text: "Old." }], "edited"),
  hurried: script([{ text: "Hurried." }], "hurried"),
};
const newText = script([{ text: "New." }], "edited");

class Story {
  readonly sessionId: string;
  readonly #directory: string;
  readonly #ids = new Map<string, string>();
  readonly #outcomes = new Map<string, CommandOutcome>();

  constructor(directory: string) {
    this.#directory = directory;
    this.sessionId = wanted(directory).sessionId;
  }

  /** The message of an accepted prompt. */
  message(step: keyof typeof prompts): string {
    return String(this.result(step)?.["messageId"]);
  }

  result(step: string): Record<string, unknown> | undefined {
    const outcome = this.#outcomes.get(step);
    return outcome && "result" in outcome ? outcome.result : undefined;
  }

  async play(host: OpenHost, isDead: () => boolean): Promise<void> {
    const { sessionId } = this;
    const ask = async <Name extends HostCommand>(
      step: string,
      command: Name,
      payload: PayloadOf<Name>,
    ) => {
      if (this.#outcomes.has(step) || isDead()) return;
      const id = this.#ids.get(step) ?? randomUUID();
      this.#ids.set(step, id);
      const outcome = await host.ask(command, payload, id);
      if (outcome) this.#outcomes.set(step, outcome);
    };
    const waiting = (step: keyof typeof prompts) => ({ sessionId, messageId: this.message(step) });
    await ask("start", "start_session", wanted(this.#directory, sessionId));
    if (!isDead() && !this.result("start")) return;
    for (const [step, text] of Object.entries(prompts)) {
      await ask(step, "send_prompt", { sessionId, text });
    }
    await ask("hold", "hold_queued_prompt", { ...waiting("edited"), held: true });
    await ask("now", "send_queued_prompt_now", waiting("hurried"));
    const update = { ...waiting("edited"), text: newText, version: 1e6 };
    await ask("update", "update_queued_prompt", update);
    const deadline = performance.now() + 10_000;
    while (!isDead() && host.journal.driven.prompts(sessionId).length > 0) {
      assert.ok(performance.now() < deadline, "the queue came to its end");
      await this.answer(host);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  /** If the daemon died before the prompts behind it were accepted, the first turn still waits for its answer. */
  async answer(host: OpenHost): Promise<void> {
    if (!this.#outcomes.has("update")) return;
    const [open] = host.journal.driven.openRequests(this.sessionId);
    if (!open) return;
    const { requestId, shownHash } = open;
    const given = { answer: "once", answers: null } as const;
    await host.ask("answer_request", { sessionId: this.sessionId, requestId, shownHash, ...given });
  }

  check(host: OpenHost, what: string): void {
    const entries = host.entries(this.sessionId);
    assert.deepEqual(
      entries.map(({ seq }) => seq),
      entries.map((_, index) => index + 1),
      what,
    );
    const seqOf = (word: string, messageId: string) =>
      entries.flatMap(({ seq, update }) =>
        update.sessionUpdate === word && "messageId" in update && update.messageId === messageId
          ? [seq]
          : [],
      );
    for (const step of Object.keys(prompts) as (keyof typeof prompts)[]) {
      const { length } = seqOf("turn_started", this.message(step));
      // The start of the session may have been interrupted.
      const expected = this.result(step) ? 1 : 0;
      assert.equal(length, expected, `${what}: ${step} ran once, if it was accepted`);
      for (const word of ["prompt_changed", "prompt_moved"]) {
        assert.ok(seqOf(word, this.message(step)).length < 2, `${what}: ${word} twice`);
      }
    }
    const ran = (step: keyof typeof prompts) => seqOf("turn_started", this.message(step))[0]!;
    if (this.result("now") && this.result("hold")) {
      assert.ok(ran("hurried") < ran("edited"), `${what}: it ran next`);
      const first = entries.find(({ update }) => update.sessionUpdate === "turn_finished")!.update;
      const outcome = "outcome" in first && first.outcome;
      assert.ok(outcome !== "completed", `${what}: the first turn was stopped`);
    }
    const text = entries.flatMap(({ update }) =>
      update.sessionUpdate === "user_message_chunk" && update.messageId === this.message("edited")
        ? [update.content.text]
        : [],
    );
    if (!this.result("edited")) return;
    const expected = this.result("update") ? newText : prompts.edited;
    assert.deepEqual(text, [expected], `${what}: the text that was accepted`);
  }
}

for (const isMade of [false, true]) {
  const when = isMade ? "after" : "before";
  test(`the daemon is killed right ${when} each commit while prompts wait`, async () => {
    let isOver = false;
    let count = Number(isMade);
    for (; !isOver; count += stride) {
      assert.ok(count < 200, "the story has an end");
      using small = makeSmallHost();
      const story = new Story(small.folder);
      const killer = killAt(count, isMade);
      const first = small.open({ wrapJournal: killer.wrapJournal });
      const playing = story.play(first, killer.isDead).catch((error: unknown) => {
        if (!killer.isDead()) throw error;
      });
      await Promise.race([killer.died, playing]);
      isOver = !killer.isDead();
      if (isOver) story.check(first, "unharmed");
      await first.close();
      if (isOver) continue;
      const second = small.open();
      await story.play(second, () => false);
      story.check(second, `commit ${count}`);
      await second.close();
    }
    assert.ok(count > 20, `the story has only ${count} commits`);
  });
}
