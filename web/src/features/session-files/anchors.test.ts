import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { anchorAt, findAnchor, reach } from "./anchors.ts";

const numbered = (texts: readonly string[], from = 1) =>
  new Map(texts.map((text, at) => [from + at, text]));
const at = (first: number, last = first) => ({ path: "a.ts", side: "new" as const, first, last });

test("4.2.1 Comments on lines: a comment moves along with its lines, up to 50 lines", () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 20 }),
      fc.nat(120),
      fc.nat({ max: 19 }),
      (texts, moved, pick) => {
        const first = 1 + (pick % texts.length);
        const anchor = anchorAt(numbered(texts), at(first));
        const found = findAnchor(numbered(texts, 1 + moved), anchor);
        assert.equal(found, moved <= reach ? first + moved : undefined);
      },
    ),
  );
});

test("4.2.1 Comments on lines: a comment never stands at other code", () => {
  // Few different lines, so that equal ones are common.
  const lines = fc.array(fc.constantFrom("a", "b", "}", ""), { minLength: 1, maxLength: 40 });
  fc.assert(
    fc.property(lines, lines, fc.nat(39), fc.nat(3), (before, after, from, more) => {
      const first = 1 + (from % before.length);
      const last = Math.min(before.length, first + more);
      const anchor = anchorAt(numbered(before), at(first, last));
      const found = findAnchor(numbered(after), anchor);
      if (found === undefined) return;
      assert.deepEqual(after.slice(found - 1, found - 1 + anchor.lines.length), anchor.lines);
    }),
  );
});

test("4.2.1 Comments on lines: of equal lines it is the one with the same neighbours, and none without any", () => {
  const before = numbered(["one", "}", "two", "}", "three"]);
  const anchor = anchorAt(before, at(4));
  assert.equal(findAnchor(numbered(["new", "one", "}", "two", "}", "three"]), anchor), 5);
  assert.equal(findAnchor(numbered(["one", "}", "2", "}", "3"]), anchor), undefined);
  assert.equal(findAnchor(numbered(["one", "}", "2", "}", "three"]), anchor), 4);
});

test("4.2.1 Comments on lines: lines that were changed are not found", () => {
  const anchor = anchorAt(numbered(["a", "b", "c"]), at(1, 2));
  assert.deepEqual(anchor.lines, ["a", "b"]);
  assert.equal(findAnchor(numbered(["a", "B", "c"]), anchor), undefined);
  assert.equal(findAnchor(new Map(), anchor), undefined);
});
