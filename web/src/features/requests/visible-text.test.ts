import assert from "node:assert/strict";
import { test } from "node:test";
import { visibleParts } from "./visible-text.ts";

const shown = (text: string) =>
  visibleParts(text)
    .map((part) => (part.isStrange ? `[${part.text}]` : part.text))
    .join("");

// N30: 20 ways to make a command look like another one.
for (const [what, text, expected] of [
  ["right-to-left override", "rm \u202etxt.exe", "rm [U+202E]txt.exe"],
  ["left-to-right isolate", "a\u2066b\u2069", "a[U+2066]b[U+2069]"],
  ["arabic letter mark", "a\u061cb", "a[U+061C]b"],
  ["zero width space", "rm\u200b-rf", "rm[U+200B]-rf"],
  ["zero width joiner", "cu\u200drl", "cu[U+200D]rl"],
  ["byte order mark", "\ufeffls", "[U+FEFF]ls"],
  ["soft hyphen", "git\u00adhub.com", "git[U+00AD]hub.com"],
  ["word joiner", "a\u2060b", "a[U+2060]b"],
  ["no-break space", "rm\u00a0-rf", "rm[U+00A0]-rf"],
  ["ideographic space", "a\u3000b", "a[U+3000]b"],
  ["hair space", "a\u200ab", "a[U+200A]b"],
  ["blank braille pattern", "a\u2800b", "a[U+2800]b"],
  ["hangul filler", "a\u3164b", "a[U+3164]b"],
  ["line separator", "a\u2028b", "a[U+2028]b"],
  ["escape sequence", "a\u001b[2Jb", "a[U+001B][2Jb"],
  ["carriage return", "safe\rrm -rf", "safe[U+000D]rm -rf"],
  ["backspace", "rm\u0008\u0008ls", "rm[U+0008][U+0008]ls"],
  ["tag characters", "ls\u{e0041}", "ls[U+E0041]"],
  ["Cyrillic letter in a Latin word", "curl g\u043egle.com", "curl g[\u043e U+043E]gle.com"],
  [
    "a Cyrillic word that reads as a Latin one",
    "\u0441\u043e\u0440 x",
    "[\u0441 U+0441][\u043e U+043E][\u0440 U+0440] x",
  ],
  ["minus sign for a hyphen", "rm \u2212rf", "rm [\u2212 U+2212]rf"],
  ["full width letters", "\uff52m x", "[\uff52 U+FF52]m x"],
  ["division slash", "https:\u2215\u2215a", "https:[\u2215 U+2215][\u2215 U+2215]a"],
] as const) {
  test(`N30: ${what} is visible`, () => assert.equal(shown(text), expected));
}

test("ordinary text of any language stays as it is", () => {
  for (const text of [
    "npm test -- --env=test",
    'git commit -m "Привет, мир"',
    "echo 日本語 é",
    "a\n\tb",
  ]) {
    assert.equal(shown(text), text);
  }
});
