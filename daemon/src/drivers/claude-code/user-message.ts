// The message that starts a turn of Claude Code: a prompt with its files, or a slash command.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { PromptAttachment, Prompt } from "../driver.ts";
import type { UserBlock, UserMessage } from "./messages.ts";

const KiB = 1024;
/** The model refuses a larger file, and then every later prompt of the session. */
const maxFileBytes = 3_500 * KiB;
const maxTotalBytes = 20_000 * KiB;
/** Claude Code itself reads at most this much text at once. */
const maxTextBytes = 100 * KiB;

export async function userMessageOf(prompt: Prompt): Promise<UserMessage> {
  const content = [
    ...prompt.context.map((text) => textBlock(quoteMentions(text))),
    ...(await fileBlocks(prompt.attachments)),
    // Claude Code reads the last text as a slash command if it begins with `/`.
    textBlock(promptText(prompt)),
  ];
  return {
    type: "user",
    message: { role: "user", content },
    parent_tool_use_id: null,
    uuid: uuidFor(prompt.messageId),
  };
}

/** Id of our message in Claude Code's transcript. */
export function uuidFor(messageId: string): string {
  const bytes = createHash("sha256").update(messageId).digest();
  // UUID version 8 is for custom formats.
  bytes[6] = 0x80 | (bytes[6]! & 0x0f);
  bytes[8] = 0x80 | (bytes[8]! & 0x3f);
  const hex = bytes.toString("hex");
  const parts = [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20)];
  return [...parts, hex.slice(20, 32)].join("-");
}

const textBlock = (text: string): UserBlock => ({ type: "text", text });

/** Adds a space before a text that Claude Code would run as a slash command. */
function promptText({ task, text }: Prompt): string {
  if (task.type === "command") return `/${task.name} ${text}`.trimEnd();
  const safe = quoteMentions(text);
  return safe.startsWith("/") ? ` ${safe}` : safe;
}

/**
 * Claude Code would read any file that a prompt mentions as `@path` or `@" path"` at once, without asking, so
 * mentions are quoted. It finds them only at the start, and after a space or one of four punctuation marks.
 * The text of `@@[` is not one word, so it gets only the first quote. The arguments of a command are checked
 * instead, because the command's own text may put an `@` before them.
 */
function quoteMentions(text: string): string {
  return text.replace(mention, (found, rest) => (rest === "@[" ? `\`${found}` : `\`${found}\``));
}

const mention =
  /(?<=^|[\s\u3002\u3001\uFF1F\uFF01])@(?=@*[^\s@])(@\[|[^\s\u3002\u3001\uFF1F\uFF01]*)/g;

async function fileBlocks(attachments: readonly PromptAttachment[]): Promise<UserBlock[]> {
  let totalBytes = 0;
  const blocks: UserBlock[] = [];
  for (const attachment of attachments) {
    const bytes = await readFile(attachment.path);
    const block =
      totalBytes + bytes.length > maxTotalBytes ? undefined : blockOf(attachment, bytes);
    if (block) totalBytes += bytes.length;
    blocks.push(block ?? textBlock(pathNote(attachment)));
  }
  return blocks;
}

/**
 * Determines the type from the content, because the model refuses an image whose declared type is wrong.
 * undefined if the file cannot be embedded.
 */
function blockOf({ filename }: PromptAttachment, bytes: Buffer): UserBlock | undefined {
  if (bytes.length > maxFileBytes) return undefined;
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

/** undefined if the model does not accept the type. */
function imageType(bytes: Buffer): string | undefined {
  const head = bytes.subarray(0, 12).toString("latin1");
  if (head.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (head.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(head)) return "image/gif";
  return /^RIFF.{4}WEBP/s.test(head) ? "image/webp" : undefined;
}

function textIn(bytes: Buffer): string | undefined {
  if (bytes.length === 0 || bytes.length > maxTextBytes || bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** For a file that is not embedded: the agent may read it with its own tools. */
function pathNote({ filename, mime, path }: PromptAttachment): string {
  const name = filename === null ? "a file" : `the file ${JSON.stringify(filename)}`;
  return `<attached-file>\nThe user attached ${name} (${mime}). It is at ${path} while you work on this.\n</attached-file>`;
}
