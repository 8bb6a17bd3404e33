import assert from "node:assert/strict";
import { test } from "node:test";
import { lastLines } from "./call-words.ts";

const lines = (count: number) => Array.from({ length: count }, (_, at) => `${at + 1}\n`).join("");

test("4.1 Fold: of long output the end is shown, with how much there is", () => {
  assert.deepEqual(lastLines(lines(500), 2), { text: "499\n500", shown: 2, total: 500 });
  assert.deepEqual(lastLines(lines(2), 200), { text: "1\n2", shown: 2, total: 2 });
  assert.deepEqual(lastLines("", 200), { text: "", shown: 0, total: 0 });
});
