import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { noteRunning, runningDaemon } from "./running.ts";
import { openState } from "./state.ts";

test("a process is the daemon by its number and its start, so that no later process counts as the daemon", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-running-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const state = openState(directory);
  assert.equal(runningDaemon(state), undefined);
  noteRunning(state, "1.0.0");
  assert.equal(runningDaemon(state), process.pid);
  const file = join(directory, "process.json");
  const noted = JSON.parse(readFileSync(file, "utf8")) as { startedAt: string };
  const wrong = [
    { ...noted, pid: process.ppid },
    { ...noted, pid: 0 },
    { ...noted, pid: -1 },
    { pid: process.pid },
    { pid: process.pid, startedAt: noted.startedAt.replace(/^\S+/, "another-boot") },
  ];
  for (const other of wrong) {
    writeFileSync(file, JSON.stringify(other));
    assert.equal(runningDaemon(state), undefined, JSON.stringify(other));
  }
});
