import assert from "node:assert/strict";
import { test } from "node:test";
import { openBlock } from "./text-block.ts";

function written(pieces: string[], columns?: number, column?: number): string {
  let text = "";
  const block = openBlock((part) => (text += part), columns, column);
  for (const piece of pieces) block.add(piece);
  block.end();
  return text;
}

test("each line is indented, and the last one ends", () => {
  assert.equal(written(["one\ntwo"]), "  one\n  two\n");
});

test("a text in pieces looks like the whole text, wherever it is cut", () => {
  const text = "a \u{1f600} b\r\nc\u001b[0m\td\r";
  const whole = written([text]);
  assert.equal(whole, "  a \u{1f600} b\n  c\\u001b[0m    d\\u000d\n");
  for (let at = 0; at <= text.length; at++) {
    assert.equal(written([text.slice(0, at), text.slice(at)]), whole, String(at));
  }
});

test("no line is longer than the terminal, so no text begins in the first column", () => {
  for (const text of [
    "x".repeat(100),
    `${" ".repeat(40)}agent: forged`,
    "字".repeat(50),
    "\u001b".repeat(30),
  ]) {
    for (const columns of [12, 20, 41]) {
      const lines = written([text], columns, 7).split("\n").slice(0, -1);
      for (const [index, line] of lines.entries()) {
        assert.ok(line.length + (index === 0 ? 7 : 0) < columns, line);
        if (index > 0) assert.ok(line.startsWith("  "), line);
      }
    }
  }
});
