// Reverting codex's history, in addition to the conformance suite: tokens, condensed histories, and a
// repository's configuration.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import {
  assertWhole,
  never,
  startSession,
  type Recording,
} from "@hawser/testkit/conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

const compact = { task: { type: "command", name: "compact" }, text: "" } as const;

const usedIn = (recording: Recording) =>
  recording.of("usage").reduce((sum, { usage }) => sum + usage.inputTokens, 0);

async function play(recording: Recording, word: string): Promise<void> {
  await recording.play([{ text: word }], { messageId: `message ${word}` });
}

const goBack = (recording: Recording, word: string) =>
  recording.session.revert!(`message ${word}`, never);

test("usage after a revert is reported once, also after a restart", async () => {
  const recording = await startSession(bench);
  for (const word of ["Ash.", "Birch.", "Cedar."]) await play(recording, word);
  assert.equal(usedIn(recording), 3_000);
  assert.equal(await goBack(recording, "Birch."), "reverted");
  await play(recording, "Elm.");
  assert.equal(usedIn(recording), 4_000);
  assert.equal(await goBack(recording, "Elm."), "reverted");
  await bench.reopen();
  await recording.resume();
  await play(recording, "Fir.");
  assert.equal(usedIn(recording), 5_000);
  assert.equal(await goBack(recording, "Ash."), "reverted");
  await play(recording, "Oak.");
  assert.equal(usedIn(recording), 6_000);
  assert.doesNotMatch(bench.received!(), /Ash|Birch|Cedar|Elm|Fir/);
});

test("a condensed history is reported, and can be reverted completely", async () => {
  const recording = await startSession(bench);
  await play(recording, "Ash.");
  const events = await recording.play([], { ...compact, messageId: "message compact" });
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => type !== "cursor_moved"),
    ["usage", "compacted", "turn_ended"],
  );
  await play(recording, "Birch.");
  assert.match(bench.received!(), /The conversation so far was about/);
  assert.doesNotMatch(bench.received!(), /"output_text","text":"Ash\./);
  assert.equal(usedIn(recording), 3_000);
  await bench.reopen();
  await recording.resume();
  assert.equal(await goBack(recording, "compact"), "reverted");
  // Condenses again: codex then reports the current count first.
  await recording.play([], { ...compact, messageId: "message again" });
  assert.equal(usedIn(recording), 4_000);
  assert.equal(await goBack(recording, "again"), "reverted");
  await play(recording, "Cedar.");
  assert.match(bench.received!(), /"output_text","text":"Ash\./);
  assert.doesNotMatch(bench.received!(), /Birch|The conversation so far/);
  assert.equal(usedIn(recording), 5_000);
  assertWhole(recording);
});

test("a prompt that never arrived after a revert is reported as interrupted, without reverted items", async () => {
  const recording = await startSession(bench);
  await play(recording, "Ash.");
  await play(recording, "Birch.");
  const late = recording.cursor;
  assert.equal(await goBack(recording, "Birch."), "reverted");
  // As if the daemon was killed before it stored the cursor, and again after it had resumed.
  recording.cursor = late;
  await bench.reopen();
  await recording.resume();
  assert.notEqual(recording.cursor, late);
  await bench.reopen();
  await recording.resume({ turnId: "turn-that-never-was" });
  const ends = recording.of("turn_ended").map(({ outcome }) => outcome);
  assert.deepEqual(ends, ["completed", "completed", "interrupted"]);
  assert.deepEqual(recording.messages(), ["Ash.", "Birch."]);
});

test("the configuration of a repository is not run on a revert, and commands still need permission", async () => {
  const directory = bench.makeDirectory();
  const recording = await startSession(bench, { directory });
  await play(recording, "Ash.");
  const mark = join(bench.folder, "ran");
  mkdirSync(join(directory, ".codex"));
  const server = ["[mcp_servers.own]", 'command = "touch"', `args = ["${mark}"]`, ""];
  writeFileSync(join(directory, ".codex", "config.toml"), server.join("\n"));
  await play(recording, "Birch.");
  assert.equal(await goBack(recording, "Birch."), "reverted");
  await recording.prompt([{ calls: [bench.asking("touch x.txt")] }, { text: "Cedar." }]);
  const { key } = await recording.untilType("request");
  await recording.session.answer(key, { permission: "reject" }, never);
  await recording.until("the third end", () => recording.of("turn_ended")[2]);
  assert.ok(!existsSync(mark) && !existsSync(join(directory, "x.txt")));
});
