// Newer models write programs that call their tools. The calls of such a program are reported and need
// permission like calls of the model itself.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { assertWhole, never, startSession } from "@hawser/testkit/conformance/recording.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench();
});
after(() => bench[Symbol.asyncDispose]());

test("each command and each change in a program is reported and needs its own permission", async () => {
  const model = bench.otherModel;
  const recording = await startSession(bench, { model });
  const patch = "*** Begin Patch\n*** Add File: n.txt\n+hello\n*** End Patch";
  const program = [
    `await tools.exec_command({ cmd: "echo allowed" });`,
    `await tools.exec_command({ cmd: "touch asked.txt" });`,
    `await tools.apply_patch(${JSON.stringify(patch)});`,
  ].join("\n");
  await recording.prompt(
    [{ calls: [{ tool: "exec", input: { input: program } }] }, { text: "Done." }],
    { model },
  );
  const { key, asked } = await recording.untilType("request");
  assert.deepEqual("permission" in asked && asked.permission.detail, "touch asked.txt");
  await recording.session.answer(key, { permission: "once" }, never);
  await recording.untilType("turn_ended");
  const titles = recording
    .updates()
    .flatMap((update) => (update.sessionUpdate === "tool_call" ? [update.title] : []));
  assert.deepEqual(titles, ["echo allowed", "touch asked.txt", "Edit n.txt"]);
  assert.equal(recording.of("request").length, 1);
  assert.deepEqual(recording.messages(), ["Done."]);
  assertWhole(recording);
});
