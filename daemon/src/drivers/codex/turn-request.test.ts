// How a prompt and its files are sent to codex.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promptOf } from "@hawser/testkit/conformance/bench.ts";
import { inputOf } from "./turn-request.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-codex-input-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function file(content: string | Buffer, mime: string, filename: string | null = null) {
  const path = join(folder, String(++made));
  writeFileSync(path, content);
  return { mime, filename, path };
}

async function textsOf(...attachments: ReturnType<typeof file>[]): Promise<string[]> {
  const input = await inputOf(promptOf([], { text: "Look.", context: ["Before."], attachments }));
  return input.map((each) => (each.type === "text" ? each.text : each.type));
}

test("context comes first, then the text, then the files in their order", async () => {
  const notes = file("remember the milk", "text/plain", "notes.txt");
  const [before, words, image, text] = await textsOf(file("…", "image/png"), notes);
  assert.deepEqual([before, words, image], ["Before.", "Look.", "localImage"]);
  assert.match(text!, /"notes\.txt" \(text\/plain\)\. It holds:\nremember the milk\n/);
});

test("a file that is not text, or too long, is named with its path", async () => {
  const archive = file(Buffer.from([0x1f, 0x8b, 0, 0xff]), "application/gzip", "all.tgz");
  const long = file("x".repeat(200_000), "text/plain", "long.txt");
  const longer = file("y".repeat(200_000), "text/plain", "longer.txt");
  const latin = file(Buffer.from([0x67, 0xfc, 0x6e]), "text/plain");
  const texts = (await textsOf(archive, long, longer, latin)).slice(2);
  assert.deepEqual(
    texts.map((text) => /It (holds|lies at)/.exec(text)?.[1]),
    ["lies at", "holds", "lies at", "lies at"],
  );
  assert.ok(texts[0]!.includes(archive.path));
  assert.match(texts[3]!, /"a file without a name"/);
});

test("an image of another type is sent like any file, and a file name is quoted", async () => {
  const drawing = file("<svg/>", "image/svg+xml", 'a"\nb.svg');
  const [text] = (await textsOf(drawing)).slice(2);
  assert.match(text!, /"a\\"\\nb\.svg" \(image\/svg\+xml\)\. It holds:\n<svg\/>/);
});
