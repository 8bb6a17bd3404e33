import assert from "node:assert/strict";
import { test } from "node:test";
import { findBanned } from "./tree-scan.ts";

// Put together from pieces, so that the scan finds nothing in this file.
const slash = "/";
const quote = '"';
const note = (word: string) => ["//", word, "later"].join(" ");

const cases: [path: string, line: string, expected: number][] = [
  ["docs/guide.md", `cd ${slash}root${slash}hawser`, 1],
  ["docs/guide.md", `"${slash}home${slash}kim${slash}hawser"`, 1],
  ["docs/guide.md", `see ${slash}work${slash}x`, 1],
  ["docs/guide.md", "cd /srv/projects/shop; cd ./work/x; GET /api/work/x", 0],
  ["docs/guide.md", "under /home, and /etc/hosts", 0],
  ["package-lock.json", `      "resolved": ${quote}https://example.com/a.tgz"`, 1],
  ["package-lock.json", '      "resolved": "contract"', 0],
  ["README.md", `npm --registry https:${slash}/registry.example.com/`, 1],
  ["README.md", "https://example.com/registry.ts", 0],
  [".npmrc", "registry=x", 1],
  ["src/a.ts", "registry = x", 0],
  ["src/a.ts", note(["TO", "DO"].join("")), 1],
  ["src/a.ts", note(["FIX", "ME"].join("")), 1],
  ["src/a.ts", "const todo = toDoList;", 0],
];

for (const [path, line, expected] of cases) {
  test(`${expected === 0 ? "takes" : "refuses"} in ${path}: ${line}`, () => {
    const found = findBanned(path, `first line\n${line}\n`);
    assert.equal(found.length, expected, found.join("\n"));
    if (expected > 0) assert.ok(found[0]!.startsWith(`${path}:2 holds `));
  });
}
