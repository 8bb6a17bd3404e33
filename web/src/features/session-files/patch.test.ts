import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { closedReason } from "./closed.ts";
import { parsePatch, sideOf } from "./patch.ts";

const patchOf = (...lines: string[]) => parsePatch(`${lines.join("\n")}\n`);

test("lines of a patch have the numbers that they have in the file", (t) => {
  const directory = mkdtempSync(join(tmpdir(), "hawser-patch-"));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  const line = fc.constantFrom("a", "b", "", "-- c", "++ d", "@@ -1 +1 @@", "\\ x");
  const text = fc
    .tuple(fc.array(line, { maxLength: 30 }), fc.boolean())
    .map(([lines, isEnded]) => lines.join("\n") + (isEnded && lines.length > 0 ? "\n" : ""));
  fc.assert(
    fc.property(text, text, (before, after) => {
      writeFileSync(join(directory, "old"), before);
      writeFileSync(join(directory, "new"), after);
      const patch = parsePatch(diff(directory));
      for (const [side, whole] of [
        ["old", before],
        ["new", after],
      ] as const) {
        const lines = whole.split("\n");
        for (const [number, text] of sideOf(patch, side)) assert.equal(text, lines[number - 1]);
      }
      const { hunks } = patch;
      const gone = hunks.flatMap(({ lines }) => lines.filter((each) => each.new === undefined));
      const come = hunks.flatMap(({ lines }) => lines.filter((each) => each.old === undefined));
      assert.equal(gone.length === 0 && come.length === 0, before === after);
    }),
    { numRuns: 30 },
  );
});

function diff(directory: string): string {
  try {
    return execFileSync("git", ["diff", "--no-index", "old", "new"], {
      cwd: directory,
      encoding: "utf8",
    });
  } catch (error) {
    // Its status says that there are differences.
    return (error as { stdout: string }).stdout;
  }
}

test("the head of a patch says what happened to the file", () => {
  const head = "diff --git a/a.txt b/a.txt";
  assert.equal(patchOf(head, "new file mode 100644", "@@ -0,0 +1 @@", "+x").status, "added");
  assert.equal(patchOf(head, "deleted file mode 100644", "@@ -1 +0,0 @@", "-x").status, "deleted");
  assert.equal(patchOf(head, "index 1..2 100644", "@@ -1 +1 @@", "-x", "+y").status, "modified");
  const renamed = patchOf(head, "similarity index 100%", "rename from old name.txt", "rename to a");
  assert.deepEqual([renamed.status, renamed.previousPath], ["renamed", "old name.txt"]);
  assert.ok(patchOf(head, "Binary files a/a.txt and b/a.txt differ").isBinary);
});

test("a line without an end says so, and line ends of Windows are no change", () => {
  const patch = patchOf("@@ -1 +1 @@ head", "-x\r", "+y\r", "\\ No newline at end of file");
  const [hunk] = patch.hunks;
  assert.equal(hunk!.heading, "head");
  assert.deepEqual(
    hunk!.lines.map(({ text, isUnended }) => [text, isUnended]),
    [
      ["x", false],
      ["y", true],
    ],
  );
  const mixed = patchOf("@@ -1 +1 @@", "-x", "+x\r");
  assert.deepEqual(
    mixed.hunks[0]!.lines.map(({ text }) => text),
    ["x", "x\r"],
  );
});

for (const [reason, file, patch] of [
  [undefined, { path: "src/a.ts", added: 200, removed: 200 }, undefined],
  ["large", { path: "src/a.ts", added: 200, removed: 201 }, undefined],
  ["generated", { path: "web/package-lock.json", added: 1, removed: 1 }, undefined],
  ["generated", { path: "src/words/en.gen.ts", added: 1, removed: 1 }, undefined],
  ["minified", { path: "public/app.min.js", added: 1, removed: 1 }, undefined],
  [
    "minified",
    { path: "a.js", added: 1, removed: 0 },
    patchOf("@@ -0,0 +1 @@", `+${"x".repeat(2_000)}`),
  ],
  ["binary", { path: "a.png", added: 0, removed: 0, isBinary: true }, undefined],
  ["binary", { path: "a.png", added: 0, removed: 0 }, patchOf("Binary files a and b differ")],
] as const) {
  test(`4.1 Changes: ${file.path} with ${file.added + file.removed} lines is ${reason ?? "open"}`, () =>
    assert.equal(closedReason(file, patch), reason));
}
