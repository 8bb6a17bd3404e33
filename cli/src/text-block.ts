// Text of others, below a heading of ours. Each line is indented, also where the terminal would wrap it, so no
// text can look like a heading. The text can arrive in pieces.
import { printable } from "@hawser/daemon/command-line/print.ts";

const indent = "  ";

export interface TextBlock {
  add(piece: string): void;
  /** Ends the last line. */
  end(): void;
}

/**
 * `columns`: the width of the terminal; undefined if lines are not wrapped. `column`: how much of the first line
 * is written.
 */
export function openBlock(
  write: (text: string) => void,
  columns: number | undefined,
  column = 0,
): TextBlock {
  /** Half of a character, or half of a line break. */
  let held = "";

  function put(character: string): void {
    if (character === "\n") {
      write("\n");
      column = 0;
      return;
    }
    const shown = character === "\t" ? "    " : printable(character);
    const width = widthOf(shown);
    if (columns !== undefined && column + width >= columns && column > indent.length) {
      write("\n");
      column = 0;
    }
    if (column === 0) {
      write(indent);
      column = indent.length;
    }
    write(shown);
    column += width;
  }

  return {
    add(piece) {
      const text = (held + piece).replaceAll("\r\n", "\n");
      held = /[\r\ud800-\udbff]$/.exec(text)?.[0] ?? "";
      for (const character of text.slice(0, text.length - held.length)) put(character);
    },
    end() {
      if (held) put(held);
      held = "";
      if (column > 0) write("\n");
      column = 0;
    },
  };
}

/** Columns of a text. Characters beyond ASCII count twice, because many of them are wide. */
function widthOf(text: string): number {
  let width = 0;
  for (const character of text) width += character <= "~" ? 1 : 2;
  return width;
}
