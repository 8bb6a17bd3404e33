// Abilities of some kinds only: each test runs if the driver has the ability.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { Abilities, Prompt } from "@hawser/daemon/drivers/driver.ts";
import type { Step } from "@hawser/daemon/drivers/scripted/script.ts";
import type { Bench } from "./bench.ts";
import { assertWhole, never, startSession, type Recording } from "./recording.ts";

/** The first bytes of a PNG, which are enough to be recognized as one. */
const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  "base64",
);

export function abilityCases(bench: () => Bench): void {
  const has = (t: TestContext, ability: keyof Abilities) => {
    const isThere = Object.hasOwn(bench().driver().abilities, ability);
    if (!isThere) t.skip(`it has no ${ability}`);
    return isThere;
  };
  const played = (steps: Step[], words: string) => `${words} @@${JSON.stringify(steps)}`;
  const command = (steps: Step[], words = "Ada"): Partial<Prompt> => ({
    task: { type: "command", name: bench().slashCommand! },
    text: played(steps, words),
  });
  const isEnded = (recording: Recording) => () => recording.of("turn_ended")[0];

  test("a slash command of its own runs as a turn, with its arguments", async (t) => {
    if (!has(t, "commands")) return;
    const names = (await bench().driver().abilities.commands!.list(bench().directory, never)).map(
      ({ name }) => name,
    );
    assert.ok(names.includes(bench().slashCommand!));
    const recording = await startSession(bench());
    await recording.play([], command([{ text: "Hello, Ada." }]));
    assert.deepEqual(recording.messages(), ["Hello, Ada."]);
    const [end] = recording.of("turn_ended");
    assert.equal(end?.outcome, "completed");
    const received = bench().received!();
    const greeting = bench().differs?.greeting ?? /Greet them: Ada/;
    assert.match(received, greeting, "its own words, with the arguments in their place");
    assert.doesNotMatch(received, /\/greet Ada/, "not as text for the model to interpret");
    await recording.play([{ text: "And on." }]);
    assert.deepEqual(recording.messages(), ["Hello, Ada.", "And on."]);
    assertWhole(recording);
  });

  test("a slash command goes on without the daemon as a prompt does, and can be stopped", async (t) => {
    if (!has(t, "commands")) return;
    const { endsWithDaemon } = bench().driver();
    const recording = await startSession(bench());
    const slow = "one two three four five six seven eight";
    await recording.prompt([], command([{ text: slow, paceMs: 300 }]));
    await recording.untilType("text");
    await bench().reopen();
    await recording.resume();
    await recording.until("the end", isEnded(recording));
    const [end] = recording.of("turn_ended");
    assert.equal(end?.outcome, endsWithDaemon ? "interrupted" : "completed");
    if (!endsWithDaemon) assert.deepEqual(recording.messages(), [slow]);
    await recording.prompt([], command([{ text: slow, paceMs: 3_000 }], "Bob"));
    await recording.session.abort(never);
    await recording.until("the second end", () => recording.of("turn_ended")[1]);
    assert.equal(recording.of("turn_ended")[1]?.outcome, "aborted");
  });

  test("files and what happened meanwhile go with a prompt", async (t) => {
    if (!has(t, "attachments")) return;
    const folder = mkdtempSync(join(tmpdir(), "hawser-attachments-"));
    try {
      const [image, notes] = [join(folder, "0"), join(folder, "1")];
      writeFileSync(image, png);
      writeFileSync(notes, "remember the milk");
      const recording = await startSession(bench());
      await recording.play([{ text: "Seen." }], {
        context: ["<shell-output>\nforty-two\n</shell-output>"],
        attachments: [
          { mime: "image/png", filename: "dot.png", path: image },
          { mime: "text/plain", filename: "notes.txt", path: notes },
        ],
      });
      assert.deepEqual(recording.messages(), ["Seen."]);
      const received = bench().received!();
      assert.ok(received.includes(png.toString("base64")), "the image");
      assert.match(received, /remember the milk/);
      assert.match(received, /forty-two/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  test("a summary is a turn of its own, and the session goes on after it", async (t) => {
    if (!has(t, "summarize")) return;
    const recording = await startSession(bench());
    await recording.play([{ text: "An old answer." }]);
    await recording.play([], { task: { type: "summarize" }, text: "" });
    assert.deepEqual(
      recording.of("turn_ended").map(({ outcome }) => outcome),
      ["completed", "completed"],
    );
    await recording.play([{ text: "A new answer." }]);
    const said = recording.messages();
    assert.deepEqual([said[0], said.at(-1)], ["An old answer.", "A new answer."]);
    assert.match(said[1] ?? "", /summary|so far/i);
    assertWhole(recording);
  });
}
