// One line of code: its colours, and no character that hides. A mark that turns the direction of writing could make code
// read as something else than it does.
import { memo, type ReactNode } from "react";
import { codeClasses } from "../../design/code-theme.ts";
import { words } from "../../words/words.ts";
import { Visible } from "../requests/index.ts";
import type { Colours } from "./highlighter.ts";

/** A line of minified code is cut for the eye, not for a comment. */
const longestLine = 2_000;
const isPlain = /^[\t -~]*$/;

export const Code = memo(function Code({
  text,
  colours,
  isUnended,
}: {
  text: string;
  colours: Colours | undefined;
  isUnended: boolean;
}): ReactNode {
  const shown = text.length > longestLine ? text.slice(0, longestLine) : text;
  return (
    <>
      {colours ? piecesOf(shown, colours) : visible(shown)}
      {shown.length < text.length && (
        <span className="dim"> {words("review.long_line", { n: text.length - shown.length })}</span>
      )}
      {isUnended && <span className="dim"> {words("review.no_end")}</span>}
    </>
  );
});

function piecesOf(text: string, colours: Colours): ReactNode[] {
  const pieces: ReactNode[] = [];
  let from = 0;
  for (let at = 0; at < colours.length && from < text.length; at += 2) {
    const piece = text.slice(from, from + colours[at]!);
    const name = codeClasses[colours[at + 1]!];
    pieces.push(
      name ? (
        <span key={at} className={name}>
          {visible(piece)}
        </span>
      ) : (
        <span key={at}>{visible(piece)}</span>
      ),
    );
    from += piece.length;
  }
  if (from < text.length) pieces.push(<span key="rest">{visible(text.slice(from))}</span>);
  return pieces;
}

const visible = (text: string): ReactNode => (isPlain.test(text) ? text : <Visible text={text} />);
