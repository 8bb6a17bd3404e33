import assert from "node:assert/strict";
import { test } from "node:test";
import { callIn, resultIn, textIn } from "./items.ts";
import type { CommandItem, FileChange, Item } from "./protocol.ts";

const directory = "/srv/tree";

const command = (more: Partial<CommandItem>): CommandItem => ({
  type: "commandExecution",
  id: "1",
  command: "/bin/bash -lc 'ls -l'",
  cwd: directory,
  status: "completed",
  aggregatedOutput: "a\nb\n",
  exitCode: 0,
  commandActions: [{ type: "listFiles" }],
  ...more,
});

const changed = (...changes: FileChange[]): Item => ({
  type: "fileChange",
  id: "1",
  changes,
  status: "completed",
});

test("a command is shown as the model wrote it, and its result is its output", () => {
  assert.deepEqual(callIn(command({}), directory), {
    title: "ls -l",
    kind: "read",
    rawInput: { command: "ls -l", cwd: directory },
  });
  const ends: [Partial<CommandItem>, string, string | undefined][] = [
    [{}, "completed", "a\nb"],
    [{ aggregatedOutput: null }, "completed", undefined],
    [{ status: "failed", exitCode: 2 }, "failed", "a\nb\nExit code 2."],
    [{ status: "declined", aggregatedOutput: null }, "failed", "This was rejected."],
  ];
  for (const [more, status, words] of ends) {
    const found = resultIn(command(more), directory);
    assert.equal(found.status, status);
    assert.equal(found.exitCode, more.status === "declined" ? undefined : (more.exitCode ?? 0));
    assert.deepEqual(
      found.content,
      words === undefined ? [] : [{ type: "content", content: { type: "text", text: words } }],
    );
  }
});

test("a change of files has one patch per file, with counts", () => {
  const item = changed(
    { path: "/srv/tree/a", kind: { type: "update" }, diff: "@@ -1,2 +1,2 @@\n x\n-y\n+z\n" },
    { path: "/srv/tree/b/c", kind: { type: "add" }, diff: "one\ntwo\n" },
    { path: "/srv/tree/d", kind: { type: "delete" }, diff: "gone\n" },
  );
  assert.deepEqual(resultIn(item, directory), {
    status: "completed",
    content: [
      { type: "patch", path: "a", patch: "@@ -1,2 +1,2 @@\n x\n-y\n+z\n", added: 1, removed: 1 },
      { type: "patch", path: "b/c", patch: "@@ -0,0 +1,2 @@\n+one\n+two\n", added: 2, removed: 0 },
      { type: "patch", path: "d", patch: "@@ -1,1 +0,0 @@\n-gone\n", added: 0, removed: 1 },
    ],
  });
});

test("a patch has at most 64 KiB, no split character, and counts the whole change", () => {
  const diff = "é\n".repeat(40_000);
  const { content } = resultIn(changed({ path: "/x", kind: { type: "add" }, diff }), directory);
  const [patch] = content;
  assert.ok(patch?.type === "patch");
  assert.ok(Buffer.byteLength(patch.patch) <= 64 * 1024);
  assert.ok(Buffer.byteLength(patch.patch) > 64 * 1024 - 4);
  assert.ok(!patch.patch.includes("\uFFFD"));
  assert.equal(patch.added, 40_000);
});

test("messages, plans and thoughts are texts; calls are not", () => {
  const said: [Item, ReturnType<typeof textIn>][] = [
    [
      { type: "agentMessage", id: "1", text: "Hi" },
      { kind: "message", text: "Hi" },
    ],
    [
      { type: "plan", id: "1", text: "First" },
      { kind: "message", text: "First" },
    ],
    [
      { type: "reasoning", id: "1", summary: ["a", "b"], content: ["c"] },
      { kind: "thought", text: "a\n\nb" },
    ],
    [
      { type: "reasoning", id: "1", summary: [], content: ["c"] },
      { kind: "thought", text: "c" },
    ],
    [command({}), undefined],
  ];
  for (const [item, expected] of said) assert.deepEqual(textIn(item), expected);
});
