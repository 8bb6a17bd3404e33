// What codex is given with a turn: what happened meanwhile, the prompt, and its files. Codex itself takes
// text and images; of its other inputs, a mention of a file changes nothing for the model.
import { readFile } from "node:fs/promises";
import type { PromptAttachment, Prompt } from "../driver.ts";
import type { Input } from "./protocol.ts";

/** What models take; codex turns any other into a note that it could not be read. */
const images: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);

/** Characters of all files together; a longer one the agent reads piece by piece. */
const mostText = 256 * 1024;
/** Codex refuses a turn with more than 1,048,576; this leaves room for our own words. */
const longestInput = 1_000_000;

export async function inputOf({ context, text, attachments }: Prompt): Promise<Input[]> {
  const words = [...context, text];
  const length = words.reduce((sum, each) => sum + each.length, 0);
  const room = Math.min(mostText, longestInput - length);
  return [...words.map(said), ...(await fileInputs(attachments, room))];
}

const said = (text: string): Input => ({ type: "text", text, text_elements: [] });

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
    const isShown = content !== undefined && content.length <= left;
    if (isShown) left -= content.length;
    inputs.push(said(isShown ? shown(file, content) : named(file)));
  }
  return inputs;
}

/** Nothing for what is no text. */
function textIn(bytes: Buffer): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return new TextDecoder("utf8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** As text in a line of ours: a caller chose the name. */
const nameOf = ({ filename, mime }: PromptAttachment) =>
  `${JSON.stringify(filename ?? "a file without a name")} (${mime})`;

const shown = (file: PromptAttachment, content: string) =>
  `<attached-file>\nThe user attached ${nameOf(file)}. It holds:\n${content}\n</attached-file>`;

const named = (file: PromptAttachment) =>
  `<attached-file>\nThe user attached ${nameOf(file)}. It lies at ${file.path} until this turn ends.\n</attached-file>`;
