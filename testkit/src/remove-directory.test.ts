import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { processesIn } from "./processes.ts";
import { removeDirectory } from "./remove-directory.ts";
import { until } from "./until.ts";

// Makes files until it is killed, beside a child that does the same.
const writing = "i=0; while :; do i=$((i + 1)); mkdir -p $PLACE/a/$i; : > $PLACE/a/$i/b; done";
const script = `(${writing}) & ${writing}`;

test("the processes that write into a directory have ended before it is removed", async () => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-written-"));
  spawn("sh", ["-c", script], { stdio: "ignore", env: { ...process.env, PLACE: directory } });
  await until("files appear", () => existsSync(join(directory, "a/100/b")));
  assert.ok(processesIn(directory).length >= 2);
  removeDirectory(directory);
  assert.equal(existsSync(directory), false);
  assert.deepEqual(processesIn(directory), []);
});

test("a directory that no test has made is refused", () => {
  const made = mkdtempSync(join(tmpdir(), "hawser-kept-"));
  removeDirectory(made);
  assert.throws(() => removeDirectory(join(made, "..", "other")), /No test has made/);
});
