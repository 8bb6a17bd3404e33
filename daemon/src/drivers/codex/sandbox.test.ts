// What an approval of a command means with codex (decision 0026).
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { never, startSession } from "../conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

async function askTo(command: string, more: object = {}) {
  const recording = await startSession(bench);
  const call = { tool: "exec_command", input: { cmd: command, ...more } };
  await recording.prompt([{ calls: [call] }, { text: "Done." }]);
  const request = await recording.untilType("request");
  assert.ok("permission" in request.asked);
  const answer = async (permission: "once" | "reject") => {
    await recording.session.answer(request.key, { permission }, never);
    await recording.untilType("turn_ended");
    assert.equal(recording.of("request").length, 1);
  };
  return { title: request.asked.permission.title, answer };
}

test("a command that nobody has allowed is asked about also where the sandbox would hold it", async () => {
  const { title, answer } = await askTo("touch inside.txt");
  assert.match(title, /without the sandbox/);
  await answer("reject");
  assert.ok(!existsSync(join(bench.directory, "inside.txt")));
});

test("what codex wants to run outside the sandbox from the start says so, with its reason", async () => {
  const outside = join(bench.folder, "escalated.txt");
  const more = { sandbox_permissions: "require_escalated", justification: "I must." };
  const { title, answer } = await askTo(`touch ${outside}`, more);
  assert.equal(title, "Run a command outside the sandbox: I must.");
  await answer("reject");
  assert.ok(!existsSync(outside));
});
