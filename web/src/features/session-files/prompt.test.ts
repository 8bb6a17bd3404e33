import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { lineReference, readLineReference } from "../../words/line-reference.ts";
import { promptOf } from "./prompt.ts";

const comment = (path: string, first: number, text: string, lines = ["code"]) => ({
  path,
  side: "new" as const,
  first,
  last: first + lines.length - 1,
  lines,
  text,
});

test("4.2.1 Comments on lines: comments are one prompt, in the order of the files, with nothing of ours around them", () => {
  const prompt = promptOf(
    [
      comment("b.ts", 3, "Last."),
      comment("gone.ts", 1, "Of a file that is as it was."),
      comment("a.ts", 9, "Second.\n", ["one", "two"]),
      comment("a.ts", 2, "First."),
    ],
    ["a.ts", "b.ts"],
    " Mend this. ",
  );
  assert.equal(
    prompt,
    [
      "Mend this.",
      "",
      "a.ts:2 (new)",
      "```",
      "code",
      "```",
      "First.",
      "",
      "a.ts:9-10 (new)",
      "```",
      "one",
      "two",
      "```",
      "Second.",
      "",
      "b.ts:3 (new)",
      "```",
      "code",
      "```",
      "Last.",
      "",
      "gone.ts:1 (new)",
      "```",
      "code",
      "```",
      "Of a file that is as it was.",
    ].join("\n"),
  );
});

test("4.2.1 Comments on lines: code that contains a fence does not end its block", () => {
  const prompt = promptOf([comment("a.md", 1, "Why?", ["````", "x", "````"])], ["a.md"], "");
  assert.match(prompt, /^a\.md:1-3 \(new\)\n`{5}\n````\nx\n````\n`{5}\nWhy\?$/);
});

test("4.2.1 Comments on lines: path:line of a prompt leads back to the line", () => {
  fc.assert(
    fc.property(
      fc.stringMatching(/^[^\n]{1,30}$/u).filter((path) => path.trim() !== ""),
      fc.integer({ min: 1, max: 100_000 }),
      fc.nat(50),
      fc.constantFrom("old" as const, "new" as const),
      (path, first, more, side) => {
        const reference = { path, side, first, last: first + more };
        assert.deepEqual(readLineReference(lineReference(reference)), reference);
      },
    ),
  );
  assert.equal(readLineReference("See a.ts:3 (new)?"), undefined);
  assert.equal(readLineReference("at 12:30 (newer)"), undefined);
});
