// What is pasted into a field and becomes a file: files, and texts that are too long to be read in a field.
import type { ClipboardEvent } from "react";
import { words } from "../../words/words.ts";

/** A longer text becomes a file. */
const longestPaste = 8_000;

export function attachPasted(
  onFiles: (files: readonly File[]) => void,
): (event: ClipboardEvent<HTMLTextAreaElement>) => void {
  return (event) => {
    const { clipboardData } = event;
    const files = [...clipboardData.files];
    const text = clipboardData.getData("text/plain");
    if (files.length === 0 && text.length <= longestPaste) return;
    event.preventDefault();
    onFiles(
      files.length > 0 ? files : [new File([text], words("files.pasted"), { type: "text/plain" })],
    );
  };
}
