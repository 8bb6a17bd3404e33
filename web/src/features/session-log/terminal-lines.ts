// The output of a terminal as lines of text with colours. Every other instruction to a terminal is removed: nothing
// moves, clears, links or sets a title.

export interface Piece {
  text: string;
  /** 0 to 7, the eight colours of a terminal; undefined for the usual one. */
  colour: number | undefined;
  isBold: boolean;
}

export type Line = readonly Piece[];

type Style = Omit<Piece, "text">;
const usual: Style = { colour: undefined, isBold: false };

/** Instructions: those with colours (ESC [ … m), all others of that form, titles and links, and single characters. */
const instruction =
  // oxlint-disable-next-line no-control-regex -- terminals are instructed by control characters
  /\u001b\[([\d;:]*)m|\u001b\[[\u0020-\u003f]*[\u0040-\u007e]|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[\u0020-\u002f]*[\u0030-\u007e]?/g;
// oxlint-disable-next-line no-control-regex -- what is left of control characters
const unseen = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

export function linesOf(output: string): Line[] {
  let style = usual;
  return output
    .replace(/\r+\n/g, "\n")
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const pieces: Piece[] = [];
      let at = 0;
      // What a carriage return goes back over is overwritten, as progress bars do.
      const kept = line.slice(line.lastIndexOf("\r") + 1);
      const add = (text: string) => {
        const seen = text.replace(unseen, "");
        if (seen !== "") pieces.push({ text: seen, ...style });
      };
      for (const found of kept.matchAll(instruction)) {
        add(kept.slice(at, found.index));
        at = found.index + found[0].length;
        if (found[1] !== undefined) style = styled(style, found[1]);
      }
      add(kept.slice(at));
      return pieces;
    });
}

function styled(before: Style, codes: string): Style {
  let style = before;
  const numbers = codes.split(/[;:]/).map(Number);
  for (let at = 0; at < numbers.length; at++) {
    const code = numbers[at]!;
    if (code === 0) style = usual;
    else if (code === 1) style = { ...style, isBold: true };
    else if (code === 22) style = { ...style, isBold: false };
    else if (code === 39) style = { ...style, colour: undefined };
    else if (code >= 30 && code <= 37) style = { ...style, colour: code - 30 };
    else if (code >= 90 && code <= 97) style = { ...style, colour: code - 90 };
    // Colours by number have operands, which are no codes.
    else if (code === 38 || code === 48) at += numbers[at + 1] === 2 ? 4 : 2;
  }
  return style;
}

/** The text alone. */
export const withoutInstructions = (output: string): string =>
  linesOf(output)
    .map((line) => line.map(({ text }) => text).join(""))
    .join("\n");
