// What of a terminal's output is shown: colours, and nothing else that a program writes for terminals.
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { linesOf } from "./terminal-lines.ts";

const esc = "\u001b";
const texts = (output: string) =>
  linesOf(output).map((line) => line.map(({ text }) => text).join(""));

test("panel Terminal: colours stay, and go on over lines until they are reset", () => {
  assert.deepEqual(linesOf(`${esc}[1;31mred\nstill${esc}[0m not\n`), [
    [{ text: "red", colour: 1, isBold: true }],
    [
      { text: "still", colour: 1, isBold: true },
      { text: " not", colour: undefined, isBold: false },
    ],
  ]);
  assert.deepEqual(linesOf(`${esc}[38;5;31mx${esc}[92my`), [
    [
      { text: "x", colour: undefined, isBold: false },
      { text: "y", colour: 2, isBold: false },
    ],
  ]);
});

test("panel Terminal: everything else is removed: moving, clearing, titles, links, bells", () => {
  const hostile = `a${esc}[2J${esc}[10;10Hb${esc}]0;title\u0007c${esc}]8;;javascript:x${esc}\\d${esc}]8;;${esc}\\e\u0007${esc}(B\u009bf`;
  assert.deepEqual(texts(hostile), ["abcdef"]);
  assert.deepEqual(texts("10%\r50%\r100%\r\ndone\r\n"), ["100%", "done"]);
});

// oxlint-disable-next-line no-control-regex -- these are looked for
const control = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f]/;

test("panel Terminal: no output of any kind leaves a control character", () => {
  const part = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom(esc, `${esc}[`, `${esc}]`, "31", ";", "m", "\r", "\n", "\u0007", "\u009b"),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 30 }), (parts) => {
      for (const text of texts(parts.join(""))) assert.doesNotMatch(text, control);
    }),
  );
});
