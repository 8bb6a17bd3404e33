import assert from "node:assert/strict";
import { test } from "node:test";
import { chooseFiles, longestFirst } from "./run-tests.ts";
import { slowestFiles } from "./test-report.ts";

const files = ["scripts/coverage.test.ts", "control-plane/src/sessions/store.test.ts"];

const chosenBy: [pattern: string[], expected: string[]][] = [
  [[], ["control-plane/src/sessions/store.test.ts", "scripts/coverage.test.ts"]],
  [["sessions"], ["control-plane/src/sessions/store.test.ts"]],
  [["./scripts/coverage.test.ts"], ["scripts/coverage.test.ts"]],
  [["control-plane/**/store.*"], ["control-plane/src/sessions/store.test.ts"]],
  [
    ["coverage", "store"],
    ["control-plane/src/sessions/store.test.ts", "scripts/coverage.test.ts"],
  ],
  [["nothing"], []],
];

for (const [patterns, expected] of chosenBy) {
  test(`npm test ${patterns.join(" ")} runs ${expected.length} of these files`, () => {
    assert.deepEqual(chooseFiles(files, patterns), expected);
  });
}

test("the twenty slowest files are listed, the slowest first", () => {
  const times = Array.from({ length: 25 }, (_, i) => ({ file: `${i}.test.ts`, ms: i * 1000 }));
  const lines = slowestFiles(times).split("\n");
  assert.equal(lines.length, 20);
  assert.equal(lines[0], "ℹ slowest   24.0 s  24.test.ts");
});

test("long files are run first, and the others keep their order", () => {
  const order = longestFirst(["a.test.ts", "b/long.test.ts", "c.test.ts"], ["c.", "long", "none"]);
  assert.deepEqual(order, ["c.test.ts", "b/long.test.ts", "a.test.ts"]);
});
