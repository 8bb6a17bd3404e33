// Prints to the terminal of whoever calls a command. Lines contain text from elsewhere: names of files,
// answers of servers, output of agents. None of it may move the cursor, hide text or begin a new line.

/**
 * Control characters (C0, DEL, C1), characters that reorder or hide text (bidirectional marks, zero-width
 * characters, tags), line separators, and halves of surrogate pairs.
 */
const unsafe =
  /[\p{Cc}\p{Cs}\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** The text on one line, with unsafe characters as escapes, such as \u001b. */
export function printable(text: string): string {
  return text.replace(unsafe, (found) => {
    const code = found.codePointAt(0)!.toString(16);
    return code.length > 4 ? `\\u{${code}}` : `\\u${code.padStart(4, "0")}`;
  });
}

/** Prints one line. */
export function print(line: string): void {
  console.log(printable(line));
}

/** Prints one line to standard error. */
export function printError(line: string): void {
  console.error(printable(line));
}
