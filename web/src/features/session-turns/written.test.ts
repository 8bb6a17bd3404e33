import assert from "node:assert/strict";
import { test } from "node:test";
import { pictureType } from "../../design/first-bytes.ts";
import { optionsWith } from "./options.ts";
import { matching } from "./use-commands.ts";
import { namedCommand, shellLine, typedCommand } from "./written.ts";

test("4.1 Composer: what a text is: a command, a line for the shell, or a prompt", () => {
  for (const [text, typed, named, line] of [
    ["/", "", undefined, undefined],
    ["/gre", "gre", "gre", undefined],
    ["/greet Ada\nand Bob", undefined, "greet", undefined],
    ["/usr/bin/env", undefined, undefined, undefined],
    ["see /greet", undefined, undefined, undefined],
    ["!git status", undefined, undefined, "git status"],
    ["! ", undefined, undefined, undefined],
    ["Great!", undefined, undefined, undefined],
  ] as const) {
    assert.deepEqual(
      [typedCommand(text), namedCommand(text), shellLine(text)],
      [typed, named, line],
      text,
    );
  }
});

test("commands that begin as it was typed are first", () => {
  const commands = ["recompact", "compact", "init"].map((name) => ({
    name,
    description: null,
    takesArguments: false,
  }));
  const names = matching(commands, "COM").map(({ name }) => name);
  assert.deepEqual(names, ["compact", "recompact"]);
});

test("4.2.7 Images: a picture is what its first bytes say, and SVG is none", () => {
  const bytes = (text: string) => Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  for (const [first, type] of [
    ["\u0089PNG\r\n\u001a\n", "image/png"],
    ["\u00ff\u00d8\u00ff\u00e0", "image/jpeg"],
    ["GIF89a", "image/gif"],
    ["RIFF\0\0\0\0WEBP", "image/webp"],
    ["\0\0\0\u001cftypavif", "image/avif"],
    ["<svg xmlns=", undefined],
    ["RIFF\0\0\0\0WAVE", undefined],
    ["", undefined],
  ] as const) {
    assert.equal(pictureType(bytes(first)), type, first);
  }
});

test("an option that chooses a variant has those of the model, and is absent without any", () => {
  const kind = {
    options: [
      { id: "effort", name: "Effort", values: ["low", "high", "max"], default: null },
      { id: "thinking", name: "Thinking", values: ["on", "off"], default: "on" },
    ],
    variants: [{ providerId: "p", modelId: "large", variants: ["low", "max"] }],
  };
  const shown = (modelId: string | undefined) =>
    optionsWith(kind, modelId === undefined ? undefined : { providerId: "p", modelId }).map(
      ({ id, values }) => [id, values.length],
    );
  assert.deepEqual(shown(undefined), [
    ["effort", 3],
    ["thinking", 2],
  ]);
  assert.deepEqual(shown("large"), [
    ["effort", 2],
    ["thinking", 2],
  ]);
  assert.deepEqual(shown("small"), [["thinking", 2]]);
});
