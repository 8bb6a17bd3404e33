import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promptOf } from "@hawser/testkit/conformance/bench.ts";
import type { PromptAttachment, Prompt } from "../driver.ts";
import { userMessageOf, uuidFor } from "./user-message.ts";

const folder = mkdtempSync(join(tmpdir(), "hawser-message-"));
after(() => rmSync(folder, { recursive: true, force: true }));

let made = 0;
function attach(bytes: Buffer | string, more: Partial<PromptAttachment> = {}): PromptAttachment {
  const path = join(folder, String(made++));
  writeFileSync(path, bytes);
  return { mime: "application/octet-stream", filename: null, path, ...more };
}

const contentOf = async (more: Partial<Prompt>) =>
  (await userMessageOf(promptOf([], more))).message.content;

test("context and files precede the prompt's text, so that the text decides whether it is a command", async () => {
  const content = await contentOf({
    context: ["<shell-output>1</shell-output>"],
    attachments: [attach("notes", { filename: "notes.txt" })],
    text: "Go on.",
  });
  assert.deepEqual(content, [
    { type: "text", text: "<shell-output>1</shell-output>" },
    {
      type: "document",
      source: { type: "text", media_type: "text/plain", data: "notes" },
      title: "notes.txt",
    },
    { type: "text", text: "Go on." },
  ]);
});

test("only a command is sent as a slash command", async () => {
  assert.deepEqual(await contentOf({ text: "/clear" }), [{ type: "text", text: " /clear" }]);
  const task = { type: "command", name: "compact" } as const;
  assert.deepEqual(await contentOf({ task, text: "" }), [{ type: "text", text: "/compact" }]);
  const named = await contentOf({ task, text: "the tests" });
  assert.deepEqual(named, [{ type: "text", text: "/compact the tests" }]);
});

test("a file that the text mentions is not read automatically", async () => {
  const cases: [string, string][] = [
    ["@/etc/passwd", "`@/etc/passwd`"],
    ['see @a.txt, @~/b and\n@"c d"', 'see `@a.txt,` `@~/b` and\n`@"c` d"'],
    ['@"a @/etc/passwd b"', '`@"a` `@/etc/passwd` b"'],
    ["@a\u3002@/etc/passwd", "`@a`\u3002`@/etc/passwd`"],
    ["@\u3001a @@b", "`@`\u3001a `@@b`"],
    ['see @" /etc/passwd"', 'see `@"` /etc/passwd"'],
    ['see @"\n/etc/passwd"', 'see `@"`\n/etc/passwd"'],
    ['@@[{"text":"/../../a b"}] @@[1]', '`@@[{"text":"/../../a b"}] `@@[1]'],
    ["@@@/etc/passwd", "`@@@/etc/passwd`"],
  ];
  for (const [text, expected] of cases) {
    assert.deepEqual(await contentOf({ text }), [{ type: "text", text: expected }]);
  }
});

test("a text that mentions no file is sent unchanged", async () => {
  const texts = [
    "Write to ada@example.com, or to (@ada).",
    "at @ noon, and at the end: @",
    "@@ -1,2 +3,4 @@ first\n@@ -9 +9 @@\n@@@ -1 -1 +1 @@@",
    "git@github.com:acme/widget.git and x@1.2.3",
    '"@a" and `@b/c`',
  ];
  for (const text of texts) {
    assert.deepEqual(await contentOf({ text }), [{ type: "text", text }]);
  }
});

test("a file's type is determined by its content", async () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n....", "latin1");
  const heads: [Buffer, string][] = [
    [png, "image image/png"],
    [Buffer.from("\xff\xd8\xff....", "latin1"), "image image/jpeg"],
    [Buffer.from("GIF89a....", "latin1"), "image image/gif"],
    [Buffer.from("RIFF\n\0\0\0WEBPVP8 ", "latin1"), "image image/webp"],
    [Buffer.from("%PDF-1.7\n"), "document application/pdf"],
    [Buffer.from("<svg/>"), "document text/plain"],
  ];
  for (const [bytes, expected] of heads) {
    const [block] = await contentOf({ attachments: [attach(bytes, { mime: "image/tiff" })] });
    assert.ok(block && "source" in block);
    assert.equal(`${block.type} ${block.source.media_type}`, expected);
  }
});

test("a file that the model does not accept is named by its path", async () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  const named = [
    attach(Buffer.from([0, 1, 2, 3])),
    attach(Buffer.from([0xff, 0xfe, 0x41])),
    attach(""),
    attach("x".repeat(200_000)),
    attach(Buffer.concat([png, Buffer.alloc(4_000_000)])),
  ];
  for (const each of named) {
    const [block] = await contentOf({ attachments: [each] });
    assert.ok(block?.type === "text" && block.text.includes(each.path), JSON.stringify(block));
  }
  const many = Array.from({ length: 7 }, () =>
    attach(Buffer.concat([png, Buffer.alloc(3_400_000)])),
  );
  const types = (await contentOf({ attachments: many })).map(({ type }) => type);
  assert.deepEqual(types, [...Array.from({ length: 6 }, () => "image"), "text", "text"]);
});

test("a message always has the same id, in the format that Claude Code accepts", async () => {
  const uuid = uuidFor("msg_1");
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.notEqual(uuid, uuidFor("msg_2"));
  assert.equal((await userMessageOf(promptOf([], { messageId: "msg_1" }))).uuid, uuid);
});
