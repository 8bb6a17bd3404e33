import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { until } from "@hawser/testkit/until.ts";
import { identify, keepRunState, readRunState, runningUp, writeRunState } from "./run-state.ts";

test("a state that was damaged or removed while hawser up runs is written again", async (t) => {
  const data = mkdtempSync(join(tmpdir(), "hawser-state-"));
  t.after(() => rmSync(data, { recursive: true }));
  const state = { ...identify(process.pid), since: "", isReady: true, parts: [] };
  let writes = 0;
  const write = () => {
    writes++;
    writeRunState(data, state);
  };
  write();
  using _kept = keepRunState(data, write, 10);
  await pause(100);
  assert.equal(writes, 1, "a good file is left alone");
  writeFileSync(join(data, "status.json"), "{");
  assert.equal(readRunState(data), undefined);
  await until("the damaged file is replaced", () => runningUp(data) !== undefined, 5_000);
  rmSync(join(data, "status.json"));
  await until("the missing file is written", () => runningUp(data) !== undefined, 5_000);
});
