import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, partsOf } from "./shell-words.ts";

test("a script is shown without the shell and its quotes", () => {
  const shown: [string, string][] = [
    ["/bin/bash -lc 'ls && env | sort'", "ls && env | sort"],
    ["/bin/bash -lc cat", "cat"],
    [`/usr/bin/zsh -c "echo 'it''s' \\"q\\" \\$HOME"`, `echo 'it''s' "q" $HOME`],
    [`/bin/bash -lc 'echo '"'"'a'"'"`, "echo 'a'"],
    ["/bin/sh -c 'a\nb'", "a\nb"],
    // Other commands are shown unchanged.
    ["git status", "git status"],
    ["/bin/bash -lc 'open", "/bin/bash -lc 'open"],
    ["/bin/bash -c 'a' b", "/bin/bash -c 'a' b"],
    ["python -c 'print(1)'", "python -c 'print(1)'"],
  ];
  for (const [given, expected] of shown) assert.equal(commandOf(given), expected);
});

test("a chain is split only if every part is plain", () => {
  const parts: [string, string[]][] = [
    ["echo one", ["echo one"]],
    ["echo one; echo two", ["echo one", "echo two"]],
    [`echo 'a;b' && ls | wc || true`, [`echo 'a;b'`, "ls", "wc", "true"]],
    [`echo "a b"`, [`echo "a b"`]],
  ];
  for (const [given, expected] of parts) assert.deepEqual(partsOf(given), expected);
  const unclear = [
    "echo $HOME",
    "echo `id`",
    'echo "$(id)"',
    "echo a & rm b",
    "echo a > b",
    "echo a < b",
    "(echo a)",
    "echo a\nrm b",
    "echo a \\; rm b",
    "echo 'a",
    "echo a # b",
    "{ rm b; }",
  ];
  for (const given of unclear) assert.equal(partsOf(given), undefined, given);
});
