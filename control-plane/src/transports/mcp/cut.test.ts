import assert from "node:assert/strict";
import { test } from "node:test";
import { countFitting, cutToFit, largestResult, sentOnce, sentTwice } from "./cut.ts";

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

test("one long entry is shortened, and hides no other", () => {
  const text = "a".repeat(60_000);
  const value = { events: [{ seq: 1, update: { text } }, { seq: 2 }], lastSeq: 2 };
  const { value: result, entries } = cutToFit(value, "elsewhere");
  assert.equal(entries, undefined, "no entry is missing");
  assert.ok(sizeOf(result) <= largestResult);
  const { events, cut } = result as typeof value & CutResult;
  const [first, second] = events;
  assert.ok(first && "update" in first && first.update.text.startsWith("aaaa"));
  assert.ok(first.update.text.length > 15_000);
  assert.deepEqual(second, { seq: 2 });
  assert.equal(cut?.parts.length, 1);
  assert.match(cut?.parts[0] ?? "", /^events\.0\.update\.text: \d+ of 60000 characters$/);
});

test("long entries have equal shares of the room, and short ones stay whole", () => {
  const schedules = Array.from({ length: 6 }, (_, n) => ({
    scheduleId: `s${n}`,
    prompt: "p".repeat(n === 3 ? 100 : 30_000),
  }));
  const { schedules: kept } = cutToFit({ schedules }, "elsewhere").value as {
    schedules: typeof schedules;
  };
  assert.deepEqual(
    kept.map(({ scheduleId }) => scheduleId),
    schedules.map(({ scheduleId }) => scheduleId),
  );
  assert.deepEqual(kept[3], schedules[3]);
  for (const n of [0, 1, 2, 4, 5]) assert.ok(kept[n]!.prompt.length > 3_000);
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

test("no character is cut in two", () => {
  const { value: result } = cutToFit({ text: "🙂".repeat(30_000) }, "elsewhere");
  assert.ok(sizeOf(result) <= largestResult);
  assert.ok((result as { text: string }).text.isWellFormed());
});

test("the parts that were cut are counted, and their names are short", () => {
  const long = "k".repeat(5_000);
  const value = Object.fromEntries(
    Array.from({ length: 20 }, (_, n) => [`${n}`, { [long]: "x".repeat(9_000) }]),
  );
  const { cut } = cutToFit({ value }, "elsewhere").value as CutResult;
  assert.ok(cut && cut.parts.length <= 6 && cut.parts.every((part) => part.length < 120));
});

const object = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));
const nested = (depth: number, value: unknown): unknown =>
  Array.from({ length: depth }).reduce((inner) => [inner, "x".repeat(600)], value);

/** Each has about 1 MB. */
const hostile: Record<string, () => unknown> = {
  "fields with short lists": () => object(30_000, ["aaaaaaa", "b", "c", "d"]),
  "lists inside lists": () => nested(1_600, 1),
  "lists inside lists, without an end": () =>
    Array.from({ length: 5_000 }).reduce((inner) => [inner], 1),
  "texts of 490 characters": () => object(2_000, "w".repeat(490)),
  "short texts": () => object(35_000, "w".repeat(20)),
  "numbers by name": () => object(60_000, 7_000_000),
  "empty lists": () => Array.from({ length: 300_000 }, () => []),
  "one text": () => "x".repeat(1_000_000),
  "one text that JSON escapes": () => "\u0001".repeat(170_000),
  "one text of quotes": () => '"'.repeat(500_000),
  "long names": () =>
    Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`${n}${"k".repeat(50_000)}`, n])),
  "long lists of long lists": () =>
    Array.from({ length: 100 }, () =>
      Array.from({ length: 100 }, () => Array.from({ length: 10 }, () => "z".repeat(10))),
    ),
};

for (const [shape, make] of Object.entries(hostile)) {
  for (const weigh of [sentOnce, sentTwice]) {
    const times = weigh === sentOnce ? "once" : "twice";
    test(`cutting 1 MB takes some milliseconds, and fits: ${shape}, sent ${times}`, () => {
      let least = Infinity;
      // The first runs also measure the compiler.
      for (let run = 0; run < 4; run += 1) {
        const update = { rawInput: make() };
        const value = { events: [{ seq: 1, update }, { seq: 2 }], lastSeq: 2 };
        const before = process.cpuUsage();
        const { value: result } = cutToFit(value, "elsewhere", { weigh });
        const { user, system } = process.cpuUsage(before);
        least = Math.min(least, user + system);
        assert.ok(weigh(result) <= largestResult, `${weigh(result)} bytes`);
        const { lastSeq, cut } = result as typeof value & CutResult;
        assert.equal(lastSeq, 2);
        assert.ok(cut!.parts.length > 0);
      }
      assert.ok(least < 50_000, `${least} µs`);
    });
  }
}

test("as many entries are counted as fit whole, from either end", () => {
  const small = Array.from({ length: 100 }, (_, n) => ({ n, text: "s".repeat(100) }));
  const large = { n: 100, text: "l".repeat(9_900) };
  const count = (entries: unknown[], end: "first" | "last", weigh = sentOnce) =>
    countFitting({ entries }, end, weigh);
  const fromEnd = count([...small, large], "last");
  assert.ok(fromEnd > 50 && fromEnd < 90);
  assert.equal(count([...small, large], "first"), 100);
  assert.ok(count([...small, large], "last", sentTwice) < fromEnd / 2 + 1);
  const huge = { n: 101, text: "h".repeat(90_000) };
  assert.equal(count([huge, ...small], "first"), 1);
  assert.equal(count([...small, huge], "first"), 100, "it comes first on the next page");
  assert.equal(count([...small, huge, small[0]], "last"), 2, "it has much room here");
});
