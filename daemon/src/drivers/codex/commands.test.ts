// Slash commands of codex, in addition to the conformance suite.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { writeSkill } from "@hawser/testkit/codex-home.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

const namesIn = async (directory: string) =>
  (await bench.driver().abilities.commands!.list(directory, never)).map(({ name }) => name);

test("compact and all skills are listed, including new ones; review is not, because it runs commands without asking", async () => {
  const directory = bench.makeDirectory();
  const before = await namesIn(directory);
  assert.deepEqual(before.slice(0, 2), ["compact", "greet"]);
  assert.ok(!before.includes("review") && !before.includes("later"));
  writeSkill(bench.home, "later", "Be late.");
  assert.ok((await namesIn(directory)).includes("later"));
});

test("a skill of the repository can be run, but does not replace a skill of the user", async () => {
  const directory = bench.makeDirectory();
  for (const name of ["own", "greet"]) {
    const folder = join(directory, ".codex", "skills", name);
    mkdirSync(folder, { recursive: true });
    const head = `---\nname: ${name}\ndescription: ${name}\n---`;
    writeFileSync(join(folder, "SKILL.md"), `${head}\nThe repository's ${name}.\n`);
  }
  assert.ok((await namesIn(directory)).includes("own"));
  const recording = await startSession(bench, { directory });
  const run = async (name: string) => {
    const text = `Ada @@${JSON.stringify([{ text: "Done." }])}`;
    await recording.play([], { task: { type: "command", name }, text });
    return bench.received!();
  };
  assert.match(await run("own"), /The repository's own\./);
  const given = await run("greet");
  assert.match(given, /Greet them: /);
  assert.doesNotMatch(given, /The repository's greet\./);
});

test("compact has no arguments, works before the first prompt, and can be stopped", async () => {
  const task = { type: "command", name: "compact" } as const;
  const recording = await startSession(bench);
  await assert.rejects(recording.prompt([], { task, text: "the tests" }), /accepts no arguments/);
  const [end] = (await recording.play([], { task, text: "" })).slice(-1);
  assert.ok(end?.type === "turn_ended" && end.outcome === "completed");
  await recording.play([{ text: "Ash." }]);
  await recording.prompt([], { task, text: "" });
  await recording.session.abort(never);
  await recording.until("the third end", () => recording.of("turn_ended")[2]);
  await recording.play([{ text: "Birch." }]);
  assert.deepEqual(recording.messages(), ["Ash.", "Birch."]);
});
