// The input of a turn: context, prompt and files. Codex accepts text and images. It also accepts mentions
// of files, but they have no effect on the model.
import { readFile } from "node:fs/promises";
import type { PromptAttachment, Prompt } from "../driver.ts";
import type { Input } from "./protocol.ts";

/** Image types that models accept. Codex replaces any other with a note that it could not be read. */
const images: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Characters of all embedded files together. The agent reads larger files with its own tools. */
const maxFileText = 256 * 1024;
/** Codex refuses a turn of more than 1,048,576 characters; this leaves room for our notes. */
const maxInput = 1_000_000;

export async function inputOf({ context, text, attachments }: Prompt): Promise<Input[]> {
  const texts = [...context, text];
  const length = texts.reduce((sum, each) => sum + each.length, 0);
  const room = Math.min(maxFileText, maxInput - length);
  return [...texts.map(textInput), ...(await fileInputs(attachments, room))];
}

const textInput = (text: string): Input => ({ type: "text", text, text_elements: [] });

async function fileInputs(
  attachments: readonly PromptAttachment[],
  room: number,
): Promise<Input[]> {
  const inputs: Input[] = [];
  let left = room;
  for (const file of attachments) {
    if (images.has(file.mime)) {
      inputs.push({ type: "localImage", path: file.path });
      continue;
    }
    const content = textIn(await readFile(file.path));
    const isEmbedded = content !== undefined && content.length <= left;
    if (isEmbedded) left -= content.length;
    inputs.push(textInput(isEmbedded ? embeddedFile(file, content) : fileNote(file)));
  }
  return inputs;
}

/** undefined if the bytes are not text. */
function textIn(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Quoted, because the caller chose the name. */
const nameOf = ({ filename, mime }: PromptAttachment) =>
  `${JSON.stringify(filename ?? "a file without a name")} (${mime})`;

const embeddedFile = (file: PromptAttachment, content: string) =>
  `<attached-file>\nThe user attached ${nameOf(file)}. It holds:\n${content}\n</attached-file>`;

const fileNote = (file: PromptAttachment) =>
  `<attached-file>\nThe user attached ${nameOf(file)}. It lies at ${file.path} until this turn ends.\n</attached-file>`;
