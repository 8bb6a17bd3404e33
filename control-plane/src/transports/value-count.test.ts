import assert from "node:assert/strict";
import { test } from "node:test";
import { Refusal } from "@hawser/contract";
import { createValueCount } from "./value-count.ts";

/** Whether the text is refused, if it arrives in pieces of this many bytes. */
function isRefused(text: string, pieceSize: number): boolean {
  const count = createValueCount();
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += pieceSize) count(bytes.subarray(at, at + pieceSize));
    return false;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    assert.equal(error.code, "invalid_input");
    return true;
  }
}

const list = (items: number) => `[${"0,".repeat(items - 1)}0]`;
const separators = ",[{".repeat(10_000);

const cases: [what: string, text: string, refused: boolean][] = [
  ["a list that fits", list(9_999), false],
  ["a list that is one too long", list(10_001), true],
  [
    "an object with too many keys",
    `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":0`).join()}}`,
    true,
  ],
  ["too many lists within each other", "[".repeat(10_001), true],
  ["a text with the signs that separate values", `{"text":"${separators}"}`, false],
  ["a text with an escaped quote before them", `{"text":"\\"${separators}"}`, false],
  ["a text that ends with an escaped backslash", `{"text":"\\\\","more":${list(10_001)}}`, true],
  ["a key with the signs that separate values", `{"${separators}":0}`, false],
];

for (const [what, text, refused] of cases) {
  test(`A5: ${what} is ${refused ? "refused" : "accepted"}, in whatever pieces it arrives`, () => {
    for (const size of [1, 7, text.length]) assert.equal(isRefused(text, size), refused);
  });
}
