// Our reading of a git configuration is git's own, for everything that we look at.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { parseConfigText } from "./config-text.ts";

const directory = mkdtempSync(join(tmpdir(), "hawser-config-"));
after(() => rmSync(directory, { recursive: true, force: true }));

for (const [what, text] of Object.entries({
  plain:
    '[remote "origin"]\n\turl = https://h/r.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n',
  "more than one value": '[remote "o"]\nurl = a\nurl = b\n[remote "o"]\nurl = c\n',
  "capitals and blanks": '[ReMoTe   "Or Igin"]   \n   URL   =   x  y   \n',
  "an old form": "[remote.Origin]\nurl = x\n",
  "quotes and escapes": '[remote "a\\"b\\\\c"]\nurl = "x # y" z \\"q\\" \\t \\\\ # comment\n',
  comments: '# one\n; two\n[a] ; three\nb = c ; four\nd = "e;f" # five\n',
  "a line that goes on": '[a]\nb = one \\\n  two\nc = "x\\\ny"\n',
  "a name alone": "[core]\nbare\nfilemode = false\n",
  "a name behind its section": '[remote "x"] url = y\n',
  "windows line ends": '[remote "origin"]\r\n\turl = https://h/r.git\r\n',
  "an = in a name and a value": '[remote "a=b"]\nurl = https://h/?x=y\n',
})) {
  test(`a configuration with ${what}`, () => {
    const path = join(directory, "config");
    writeFileSync(path, text);
    const { stdout, status } = spawnSync("git", ["config", "--null", "--list", "--file", path]);
    assert.equal(status, 0);
    const expected = new Map<string, string[]>();
    for (const entry of stdout.toString().split("\0").slice(0, -1)) {
      const [name = "", ...value] = entry.split("\n");
      expected.set(name, [...(expected.get(name) ?? []), value.join("\n")]);
    }
    assert.ok(expected.size > 0);
    assert.deepEqual(parseConfigText(text), expected);
  });
}

test("a text that is none gives nothing, in no time", () => {
  for (const text of [
    "",
    "]]]]",
    "\0\0",
    "[".repeat(100_000),
    "\\\n".repeat(50_000),
    `[a "${"\\".repeat(99_999)}`,
  ]) {
    const started = performance.now();
    assert.equal(parseConfigText(text).size, 0);
    assert.ok(performance.now() - started < 500);
  }
});
