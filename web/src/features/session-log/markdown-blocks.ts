// Markdown of agents as tokens. Closed blocks of a text that is being written are parsed once; only the last block is
// parsed again with each piece.
import { Lexer, type Token } from "marked";

export interface Block {
  /** The text of the block: blocks with the same text are drawn the same. */
  raw: string;
  token: Token;
}

/** Closes what is unclosed at the end of a text. Until it is loaded, such marks are drawn as they are written. */
let closeEnd = (text: string) => text;

export async function loadClosing(): Promise<void> {
  const { default: remend } = await import("remend");
  closeEnd = (text) => remend(text, { images: false, htmlTags: false });
}

/** Attachments of definitions such as `[1]: https://…` hold across blocks, so such texts are parsed as one. */
const hasDefinition = /^ {0,3}\[[^\]\n]+\]:/m;

/** Parts within parts, each begun by a mark or by more spaces: the lexer needs too much stack or time for them. */
const isTooDeep = /^(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]))){40}|^[ \t]{120}/m;

function lex(text: string): Token[] {
  // The page draws a type that it does not know as plain text.
  if (isTooDeep.test(text)) return [{ type: "too_deep", raw: text }];
  return new Lexer({ gfm: true }).lex(text);
}

function parse(text: string): Block[] {
  const tokens = lex(text);
  return tokens.filter(({ type }) => type !== "space").map((token) => ({ raw: token.raw, token }));
}

/** The blocks of a whole text. */
export function blocksOf(text: string): Block[] {
  return parse(text);
}

export interface OpenBlocks {
  /** The blocks of the text so far. What is unclosed at its end is drawn as if it were closed. */
  update: (text: string) => readonly Block[];
}

/** For a text that grows at its end. */
export function createOpenBlocks(): OpenBlocks {
  let closed: Block[] = [];
  let closedText = "";
  return {
    update(text) {
      if (!text.startsWith(closedText) || hasDefinition.test(text)) {
        closed = [];
        closedText = "";
      }
      const rest = text.slice(closedText.length);
      const blocks = lex(rest);
      // The last block, and what follows it, can still change: a list goes on, a paragraph becomes a heading.
      const last = blocks.findLastIndex(({ type }) => type !== "space");
      const kept = hasDefinition.test(text) ? [] : blocks.slice(0, Math.max(0, last));
      for (const token of kept) {
        closedText += token.raw;
        if (token.type !== "space") closed = [...closed, { raw: token.raw, token }];
      }
      const open = text.slice(closedText.length);
      return [...closed, ...parse(closeEnd(open))];
    },
  };
}
