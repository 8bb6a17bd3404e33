// How texts of agents become blocks.
import assert from "node:assert/strict";
import { test } from "node:test";
import { blocksOf, createOpenBlocks, loadClosing } from "./markdown-blocks.ts";

const nested = (depth: number, mark: string) =>
  Array.from({ length: depth }, (_, level) => `${" ".repeat(2 * level)}${mark} a`).join("\n");

const deep: [string, string][] = [
  ["quotes in quotes", `${">".repeat(5_000)} x`],
  ["quotes with spaces", `${"> ".repeat(5_000)}x`],
  ["lists on one line", `${"- ".repeat(5_000)}x`],
  ["numbered lists on one line", `${"1. ".repeat(5_000)}x`],
  ["quotes and lists in turn", `${"> - ".repeat(2_500)}x`],
  ["lists on many lines", nested(1_000, "-")],
  ["numbered lists on many lines", nested(1_000, "1.")],
];

test("T5: parts within parts without end cost no page its stack or its time", () => {
  for (const [name, text] of deep) {
    const before = performance.now();
    const blocks = blocksOf(`First.\n\n${text}`);
    const open = createOpenBlocks();
    open.update(text.slice(0, text.length / 2));
    open.update(text);
    const tookMs = performance.now() - before;
    assert.ok(
      blocks
        .map(({ raw }) => raw)
        .join("")
        .includes(text.trim()),
      name,
    );
    assert.ok(tookMs < 500, `${name}: ${tookMs} ms`);
  }
});

test("what people write in parts within parts is parsed", () => {
  assert.equal(blocksOf(nested(8, "-"))[0]!.token.type, "list");
  assert.equal(blocksOf("> > > quoted thrice")[0]!.token.type, "blockquote");
  assert.equal(blocksOf("-".repeat(200))[0]!.token.type, "hr");
});

test("4.1 Streaming: closed blocks are kept, and only the last one is parsed again", () => {
  const open = createOpenBlocks();
  const before = open.update("# One\n\nTwo is closed.\n\nThree gro");
  const after = open.update("# One\n\nTwo is closed.\n\nThree grows.");
  assert.equal(after.length, 3);
  assert.deepEqual(
    after.map((block, at) => block.token === before[at]!.token),
    [true, true, false],
  );
});

test("4.1 Streaming: an unclosed fence is code at once, and unclosed marks are drawn as closed", async () => {
  const open = createOpenBlocks();
  assert.equal(open.update("Here:\n\n```ts\nconst x").at(-1)!.token.type, "code");
  await loadClosing();
  const [block] = createOpenBlocks().update("It is **very impor");
  assert.ok(block!.token.type === "paragraph");
  assert.equal((block!.token as { tokens: { type: string }[] }).tokens.at(-1)!.type, "strong");
});
