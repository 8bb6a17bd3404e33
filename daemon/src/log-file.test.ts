import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { formerLogOf, openLogFile } from "./log-file.ts";

function place(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), "hawser-log-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return { directory, path: join(directory, "log/hawserd.log") };
}

test("two files take at most twice the limit, and the newest lines are in them", (t) => {
  const { path } = place(t);
  const write = openLogFile(path, 1000);
  for (let i = 0; i < 500; i++) write(`line ${i}\n`);
  const [now, before] = [path, formerLogOf(path)].map((file) => readFileSync(file, "utf8"));
  assert.ok(now!.length <= 1000 && before!.length <= 1000);
  assert.match(now!, /line 499\n$/);
  assert.match(before! + now!, /line 498\nline 499\n$/);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.equal(statSync(join(path, "..")).mode & 0o777, 0o700);
});

test("two processes of the daemon write into the same file, whoever of them begins a new one", (t) => {
  const { path } = place(t);
  const [one, other] = [openLogFile(path, 100), openLogFile(path, 100)];
  one("a".repeat(60) + "\n");
  other("b".repeat(60) + "\n");
  one("c\n");
  assert.equal(readFileSync(path, "utf8"), `${"b".repeat(60)}\nc\n`);
});

test("while nothing can be written lines are lost, and nothing else; how many is said later", (t) => {
  const { directory, path } = place(t);
  writeFileSync(join(directory, "log"), "in the way");
  const write = openLogFile(path);
  write("lost\n");
  write("lost\n");
  rmSync(join(directory, "log"));
  write("kept\n");
  const [gap, kept] = readFileSync(path, "utf8").trim().split("\n");
  assert.equal((JSON.parse(gap!) as { lines: number }).lines, 2);
  assert.equal(kept, "kept");
});

test(
  "a full disk costs lines of the log, and room brings them back (F8)",
  { skip: process.getuid?.() !== 0 && "needs root to mount a small disk" },
  (t) => {
    const { directory, path } = place(t);
    const disk = join(directory, "log");
    mkdirSync(disk);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", disk]);
    using _mounted = { [Symbol.dispose]: () => void execFileSync("umount", ["--lazy", disk]) };
    const write = openLogFile(path);
    for (let i = 0; i < 100; i++) write(`${"x".repeat(1000)}\n`);
    assert.ok(statSync(path).size <= 64 * 1024);
    execFileSync("mount", ["-o", "remount,size=1m", disk]);
    write("kept\n");
    assert.match(readFileSync(path, "utf8"), /\n\{.*log lines were lost.*\nkept\n$/);
  },
);
