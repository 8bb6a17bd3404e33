// The used quota that the real codex reports from the headers of the model's answers.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCodexBench, type CodexBench } from "@hawser/testkit/codex-bench.ts";
import { never, startSession } from "@hawser/testkit/conformance/recording.ts";
import { until } from "@hawser/testkit/until.ts";

let bench: CodexBench;
before(async () => {
  bench = await openCodexBench({ idleMs: 60_000 });
});
after(() => bench[Symbol.asyncDispose]());

const limits = (primary: number, secondary: number) => {
  const resets = String(Math.floor(Date.now() / 1000) + 3600);
  return {
    "x-codex-primary-used-percent": String(primary),
    "x-codex-primary-window-minutes": "300",
    "x-codex-primary-reset-at": resets,
    "x-codex-secondary-used-percent": String(secondary),
    "x-codex-secondary-window-minutes": "10080",
    "x-codex-secondary-reset-at": resets,
  };
};

const utilization = async () => (await bench.driver().readUtilization!(never))?.percent ?? null;

test("the fuller of codex's two periods counts, and an answer without headers changes nothing", async () => {
  assert.equal(await utilization(), null);
  const recording = await startSession(bench);
  await recording.play([{ text: "Hello.", headers: limits(42, 17) }]);
  await until("codex has reported it", async () => (await utilization()) === 42);
  await recording.play([{ text: "Again." }]);
  assert.equal(await utilization(), 42);
  await recording.play([{ text: "More.", headers: limits(43, 95) }]);
  await until("codex has reported it", async () => (await utilization()) === 95);
});
