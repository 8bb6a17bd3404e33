import assert from "node:assert/strict";
import { test } from "node:test";
import { addPiece, type LiveItem, type LivePiece } from "./live-text.ts";

const piece = (text: string, offset: number): LivePiece => ({
  itemId: "m",
  turnId: "t",
  kind: "message",
  text,
  offset,
});
const textOf = (...pieces: LivePiece[]) => {
  const item = pieces.reduce<LiveItem | undefined>(addPiece, undefined)!;
  return [item.text, item.hasGap];
};

for (const [what, pieces, text, hasGap] of [
  ["pieces are put at their offsets", [piece("one ", 0), piece("two", 4)], "one two", false],
  ["a piece that comes twice changes nothing", [piece("ab", 0), piece("b", 1)], "ab", false],
  ["offset 0 begins the item again", [piece("old", 0), piece("new", 0)], "new", false],
  [
    "after a gap what is there stays, and the rest is dropped",
    [piece("one", 0), piece("four", 9), piece(" two", 3)],
    "one",
    true,
  ],
  ["an item whose beginning was missed stays empty", [piece("two", 4)], "", true],
  [
    "a whole item after a gap heals it",
    [piece("two", 4), piece("one two", 0), piece("!", 7)],
    "one two!",
    false,
  ],
] as [string, LivePiece[], string, boolean][]) {
  test(`4.1 Streaming: ${what}`, () => assert.deepEqual(textOf(...pieces), [text, hasGap]));
}
