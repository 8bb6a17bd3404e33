// What Claude Code is given to begin a turn: a prompt with its files, or one of its slash commands.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { PromptAttachment, Prompt } from "../driver.ts";
import type { UserBlock, UserMessage } from "./messages.ts";

const KiB = 1024;
/** A file above this would be refused by the model, and with it every later prompt of the session. */
const mostEmbedded = 3_500 * KiB;
const mostTogether = 20_000 * KiB;
/** As much text as Claude Code itself reads at once. */
const longestText = 100 * KiB;

export async function userMessageOf(prompt: Prompt): Promise<UserMessage> {
  const content = [
    ...prompt.context.map(textBlock),
    ...(await fileBlocks(prompt.attachments)),
    // The last text decides whether it is a command.
    textBlock(wordsOf(prompt)),
  ];
  return {
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    uuid: uuidFor(prompt.messageId),
  };
}

/** The id that our message has in Claude's own transcript. */
export function uuidFor(messageId: string): string {
  const bytes = createHash("sha256").update(messageId).digest();
  // Version 8 is for whoever makes ids in a way of their own.
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join("-");
}

const textBlock = (text: string): UserBlock => ({ type: "text", text });

/** A text that begins like a command of Claude Code's own would be run as one. */
function wordsOf({ task, text }: Prompt): string {
  const words = quoteMentions(text);
  if (task.type === "command") return `/${task.name} ${words}`.trimEnd();
  return words.startsWith("/") ? ` ${words}` : words;
}

/** Claude Code reads a file that is named like this by itself, wherever it lies, and asks nobody. */
function quoteMentions(text: string): string {
  return text.replace(/(^|[\s\u3002\u3001\uFF1F\uFF01])(@(?!@)(?:"[^"]+"|\S+))/g, "$1`$2`");
}

async function fileBlocks(attachments: readonly PromptAttachment[]): Promise<UserBlock[]> {
  let together = 0;
  const blocks: UserBlock[] = [];
  for (const attachment of attachments) {
    const bytes = await readFile(attachment.path);
    const block = together + bytes.length > mostTogether ? undefined : blockOf(attachment, bytes);
    if (block) together += bytes.length;
    blocks.push(block ?? textBlock(pathNote(attachment)));
  }
  return blocks;
}

/** By what it holds, not by what it is called: the model refuses an image of another type than said. */
function blockOf({ filename }: PromptAttachment, bytes: Buffer): UserBlock | undefined {
  if (bytes.length > mostEmbedded) return undefined;
  const title = filename === null ? {} : { title: filename };
  const data = () => bytes.toString("base64");
  const image = imageType(bytes);
  if (image) return { type: "image", source: { type: "base64", media_type: image, data: data() } };
  if (bytes.subarray(0, 5).toString("latin1") === "%PDF-") {
    const source = { type: "base64", media_type: "application/pdf", data: data() } as const;
    return { type: "document", source, ...title };
  }
  const text = textIn(bytes);
  if (text === undefined) return undefined;
  return {
    type: "document",
    source: { type: "text", media_type: "text/plain", data: text },
    ...title,
  };
}

/** Of the types that the model sees. */
function imageType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return /^RIFF.{4}WEBP/s.test(head) ? "image/webp" : undefined;
}

function textIn(bytes: Buffer): string | undefined {
  if (bytes.length === 0 || bytes.length > longestText || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** The rest it may look at with its own tools. */
function pathNote({ filename, mime, path }: PromptAttachment): string {
  const name = filename === null ? "a file" : `the file ${JSON.stringify(filename)}`;
  return `<attached-file>\nThe user attached ${name} (${mime}). It is at ${path} while you work on this.\n</attached-file>`;
}
