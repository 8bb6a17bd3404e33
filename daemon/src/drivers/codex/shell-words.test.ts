import assert from "node:assert/strict";
import { test } from "node:test";
import { commandOf, quoteCommand } from "./shell-words.ts";

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

test("a quoted script is read back unchanged", () => {
  for (const script of ["ls", "echo 'a' \"b\"", "bash -lc 'id'", "a\nb\\'"]) {
    assert.equal(commandOf(quoteCommand(script)), script);
  }
});
