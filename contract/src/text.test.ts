// Lengths are counted in code points, paths are absolute, and the mark of what is never logged
// keeps what the schema already said.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { AbsolutePath, codePointLength, neverLogged, text } from "./text.ts";

test("a length is the number of code points", () => {
  const lengths: [string, number][] = [
    ["", 0],
    ["a", 1],
    ["é", 1],
    ["e\u0301", 2],
    ["🙂", 1],
    ["🙂".repeat(80), 80],
    ["👩‍💻", 3],
    ["\ud83d", 1],
    ["\ude42\ud83d", 2],
    ["\ud83d\ud83d\ude42", 2],
  ];
  for (const [value, length] of lengths) {
    assert.equal(codePointLength(value), length, JSON.stringify(value));
    assert.equal([...value].length, length);
  }
});

test("bounds are inclusive and count emoji once", () => {
  const name = text({ min: 1, max: 80 });
  for (const value of ["a", " ", "a".repeat(80), "🙂".repeat(80)]) {
    assert.equal(name.parse(value), value);
  }
  for (const value of ["", "a".repeat(81), "🙂".repeat(81), 7, null]) {
    assert.ok(!name.safeParse(value).success, String(value));
  }
  assert.ok(text({ max: 5 }).safeParse("").success);
  assert.ok(text({ min: 1 }).safeParse("a".repeat(1_000_000)).success);
});

test("bounds are published as JSON Schema counts them", () => {
  const { minLength, maxLength } = z.toJSONSchema(text({ min: 1, max: 80 }));
  assert.deepEqual({ minLength, maxLength }, { minLength: 1, maxLength: 80 });
  assert.equal(z.toJSONSchema(text({ max: 5 })).minLength, undefined);
  assert.equal(z.toJSONSchema(text({ min: 1 })).maxLength, undefined);
});

test("marking a field as never logged keeps its bounds and its checks", () => {
  const code = neverLogged(text({ min: 1, max: 4096 }));
  const { writeOnly, maxLength } = z.toJSONSchema(code);
  assert.deepEqual({ writeOnly, maxLength }, { writeOnly: true, maxLength: 4096 });
  assert.ok(!code.safeParse("").success);
});

test("an absolute path begins with a slash", () => {
  for (const path of ["/", "/a/b", "/a/../b"]) assert.ok(AbsolutePath.safeParse(path).success);
  for (const path of ["", "a", "./a", "~/a", "C:\\a", " /a"]) {
    assert.ok(!AbsolutePath.safeParse(path).success, path);
  }
});
