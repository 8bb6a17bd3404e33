// Writes to the terminal. Answers contain text of agents, files and other people, so characters that could
// move the cursor, hide text or run a terminal's commands are shown as escapes, such as \u001b.
import { printable } from "@hawser/daemon/command-line/print.ts";

/** The text with its line breaks; every other unsafe character is an escape. */
export function safeText(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line.replaceAll("\t", "    ")))
    .join("\n");
}

/** JSON on one line, or indented. Unsafe characters are escapes, so it is the same value to a program. */
export function safeJson(value: unknown, indented = false): string {
  const text = JSON.stringify(value, undefined, indented ? 2 : undefined);
  return (
    text
      // JSON has no escape for a character beyond U+FFFF: both halves of the surrogate pair are written.
      .replaceAll(/[\u{e0000}-\u{e007f}]/gu, (found) => found.split("").map(escaped).join(""))
      // JSON.stringify has replaced line breaks inside texts. These are of the indentation.
      .split("\n")
      .map(printable)
      .join("\n")
  );
}

const escaped = (unit: string) => `\\u${unit.charCodeAt(0).toString(16)}`;

export function printText(text: string): void {
  process.stdout.write(`${text}\n`);
}

export function printNotice(text: string): void {
  process.stderr.write(`${safeText(text)}\n`);
}
