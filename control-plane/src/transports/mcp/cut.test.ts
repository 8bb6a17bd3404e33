import assert from "node:assert/strict";
import { test } from "node:test";
import { cutToFit, largestResult } from "./cut.ts";

const sizeOf = (value: object) => Buffer.byteLength(JSON.stringify(value));

interface CutResult {
  cut?: { parts: string[]; rest: string };
}

test("a result that fits is returned as it is", () => {
  const value = { sessions: [1, 2, 3] };
  assert.equal(cutToFit(value, "elsewhere").value, value);
});

test("a list keeps the entries that fit, in their order", () => {
  const value = { entries: Array.from({ length: 500 }, (_, n) => ({ n, text: "x".repeat(90) })) };
  const { value: result, entries } = cutToFit(value, "elsewhere");
  const { entries: kept, cut } = result as typeof value & CutResult;
  assert.ok(sizeOf(result) <= largestResult);
  assert.ok(entries! > 100);
  assert.deepEqual(kept, value.entries.slice(0, entries));
  assert.deepEqual(cut, { parts: [`entries: ${entries} of 500 entries`], rest: "elsewhere" });
  assert.equal(value.entries.length, 500, "the original is unchanged");
});

test("an entry that is too large alone keeps the beginning of its longest text", () => {
  const text = "a".repeat(60_000);
  const value = { events: [{ seq: 1, update: { text } }, { seq: 2 }], lastSeq: 2 };
  const { value: result, entries } = cutToFit(value, "elsewhere");
  assert.equal(entries, 1);
  assert.ok(sizeOf(result) <= largestResult);
  const { events, cut } = result as typeof value & CutResult;
  const [first] = events;
  assert.ok(first && "update" in first && first.update.text.startsWith("aaaa"));
  assert.deepEqual(cut?.parts[0], "events: 1 of 2 entries");
  assert.match(cut?.parts[1] ?? "", /^events\.0\.update\.text: \d+ of 60000 characters$/);
});

test("several lists and texts are cut, the largest first", () => {
  const value = {
    name: "n",
    roots: Array.from({ length: 10 }, () => "r".repeat(300)),
    sessions: Array.from({ length: 200 }, () => "s".repeat(300)),
  };
  const { value: result, entries } = cutToFit(value, "elsewhere");
  const { name, roots, cut } = result as typeof value & CutResult;
  assert.ok(sizeOf(result) <= largestResult);
  assert.equal(entries, undefined);
  assert.deepEqual([name, roots], [value.name, value.roots]);
  assert.equal(cut?.parts.length, 1);
});

test("no character is cut in two, and what cannot be cut is returned", () => {
  const { value: result } = cutToFit({ text: "🙂".repeat(30_000) }, "elsewhere");
  assert.ok(sizeOf(result) <= largestResult);
  assert.ok((result as { text: string }).text.isWellFormed());
  const numbers = Object.fromEntries(Array.from({ length: 4_000 }, (_, n) => [`n${n}`, n]));
  const { value: whole } = cutToFit(numbers, "elsewhere");
  assert.equal((whole as Record<string, number>)["n3999"], 3999);
});
