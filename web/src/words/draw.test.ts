// Messages with values.
import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, type Message } from "./draw.ts";
import { words } from "./words.ts";

const files: Message = [
  "Read ",
  ["n", "plural", { "0": "nothing", one: ["#", " file of ", ["host"]], other: ["#", " files"] }],
  ".",
];

test("a message has its values, and the plural of their number", () => {
  const read = (n: number) => draw(files, { n, host: "builder # 1" });
  assert.deepEqual(
    [read(0), read(1), read(2), read(12_345)],
    ["Read nothing.", "Read 1 file of builder # 1.", "Read 2 files.", "Read 12,345 files."],
  );
  assert.equal(words("age.hours", { n: 3 }), "3h");
});
