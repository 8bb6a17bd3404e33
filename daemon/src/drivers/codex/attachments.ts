// The files of a prompt, where the session's commands can read them. The daemon's own copies are hidden from
// commands, because other sessions' files lie beside them.
import { copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import type { PromptAttachment } from "../driver.ts";

/** Replaces the previous prompt's files with copies of these, and returns the copies. */
export async function placeAttachments(
  directory: string,
  attachments: readonly PromptAttachment[],
): Promise<PromptAttachment[]> {
  for (const name of await readdir(directory)) {
    await rm(join(directory, name), { recursive: true, force: true });
  }
  const copies: PromptAttachment[] = [];
  for (const [at, attachment] of attachments.entries()) {
    const path = join(directory, String(at));
    await copyFile(attachment.path, path);
    copies.push({ ...attachment, path });
  }
  return copies;
}
