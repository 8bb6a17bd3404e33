// Settings of a turn. Codex keeps the previous turn's settings unless they are sent again.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { git } from "@hawser/testkit/git-repository.ts";
import type { Prompt } from "../driver.ts";
import { never, startSession, type Recording } from "@hawser/testkit/conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

interface Asked {
  model: string;
  reasoning: { effort: string };
  input: { role?: string; content?: { text: string }[] }[];
}

/** Model, effort and mode of the last request to the model. */
async function settingsOf(recording: Recording, prompt: Partial<Prompt>) {
  await recording.play([{ text: "Done." }], prompt);
  const { model, reasoning, input } = bench.model.requests.at(-1)!.body as unknown as Asked;
  const modes = input
    .filter(({ role }) => role === "developer")
    .flatMap(({ content }) => (content ?? []).map(({ text }) => text))
    .filter((text) => text.includes("<collaboration_mode>"));
  const mode = modes.at(-1)?.includes("# Plan Mode") ? "plan" : "default";
  return [model, reasoning.effort, mode];
}

test("each turn has its prompt's settings, whatever the previous turn had", async () => {
  const recording = await startSession(bench);
  const usual = await settingsOf(recording, {});
  const [model, effort] = usual;
  const high = { options: { effort: "high" } };
  assert.deepEqual(await settingsOf(recording, high), [model, "high", "default"]);
  assert.deepEqual(await settingsOf(recording, high), [model, "high", "default"]);
  assert.deepEqual(await settingsOf(recording, {}), usual);
  const plan = { agent: "plan", messageId: "planned" };
  assert.deepEqual(await settingsOf(recording, plan), [model, effort, "plan"]);
  assert.deepEqual(await settingsOf(recording, {}), usual);
  assert.deepEqual(await settingsOf(recording, { agent: "plan" }), [model, effort, "plan"]);
  assert.equal(await recording.session.revert!("planned", never), "reverted");
  assert.deepEqual(await settingsOf(recording, {}), usual);
  const other = { model: bench.otherModel };
  assert.equal((await settingsOf(recording, other))[0], bench.otherModel.modelId);
  assert.deepEqual(await settingsOf(recording, {}), usual);
  assert.deepEqual(await settingsOf(recording, high), [model, "high", "default"]);
  await bench.reopen();
  await recording.resume();
  assert.deepEqual(await settingsOf(recording, {}), usual);
});

test("a commit in a worktree works in later turns too, and hooks stay protected", async () => {
  const repository = bench.makeDirectory();
  const directory = join(bench.folder, "worktrees", "later");
  git(repository, "worktree", "add", "--quiet", "-b", "later", directory);
  const recording = await startSession(bench, { directory });
  const hook = join(repository, ".git/hooks/pre-commit");
  for (const name of ["one", "two"]) {
    // Codex would repeat a command without the sandbox if it failed immediately.
    const commit = `sleep 1; touch ${name} && git add . && git commit -qm ${name}; touch ${hook}`;
    await recording.prompt([{ calls: [bench.asking(commit)] }, { text: name }]);
    const seen = name === "one" ? 0 : 1;
    const { key } = await recording.until("request", (event) => {
      return event.type === "request" && recording.of("request")[seen] === event && event;
    });
    await recording.session.answer(key, { permission: "once" }, never);
    await recording.until("end", () => recording.of("turn_ended").length > seen);
  }
  const log = execFileSync("git", ["-C", directory, "log", "--format=%s"], { encoding: "utf8" });
  assert.equal(log, "two\none\nfirst\n");
  const hooks = execFileSync("ls", [join(repository, ".git/hooks")], { encoding: "utf8" });
  assert.doesNotMatch(hooks, /^pre-commit$/m);
});
