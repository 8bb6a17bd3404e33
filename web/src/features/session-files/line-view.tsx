// A line of a diff: numbers, which are the buttons for comments, and its code.
import { memo, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import { Code } from "./code.tsx";
import type { Colours } from "./highlighter.ts";
import type { PatchLine, Side } from "./patch.ts";
import { sideOfLine, type Layout, type LineRow } from "./rows.ts";

interface LineProps {
  row: LineRow;
  layout: Layout;
  mayComment: boolean;
  /** The side whose button the Tab key reaches; undefined on all lines but one. */
  focusable: Side | undefined;
  /** The side on which the line is picked. */
  picked: Side | undefined;
  oldColours: Colours | undefined;
  newColours: Colours | undefined;
}

export const LineView = memo(function LineView({
  row,
  layout,
  oldColours,
  newColours,
  ...props
}: LineProps): ReactNode {
  const { old, new: now } = row;
  if (layout === "split") {
    return (
      <div className="dl split">
        <Half side="old" line={old} colours={oldColours} {...props} />
        <Half side="new" line={now} colours={newColours} {...props} />
      </div>
    );
  }
  const line = (now ?? old)!;
  const kind = kindOf(line);
  const side = sideOfLine(line);
  return (
    <div className={`dl ${kind} ${props.picked ? "picked" : ""}`}>
      <Number side="old" line={line} isButton={side === "old"} {...props} />
      <Number side="new" line={line} isButton={side === "new"} {...props} />
      <span className="g" aria-hidden>
        {kind === "add" ? "+" : kind === "del" ? "−" : ""}
      </span>
      <code className="t">
        <Code text={line.text} colours={newColours} isUnended={line.isUnended} />
      </code>
    </div>
  );
});

type ButtonProps = Pick<LineProps, "mayComment" | "focusable" | "picked">;

function Half({
  side,
  line,
  colours,
  ...props
}: ButtonProps & {
  side: Side;
  line: PatchLine | undefined;
  colours: Colours | undefined;
}): ReactNode {
  if (!line) return <span className="half none" />;
  return (
    <span className={`half ${kindOf(line)} ${props.picked === side ? "picked" : ""}`}>
      <Number side={side} line={line} isButton {...props} />
      <code className="t">
        <Code text={line.text} colours={colours} isUnended={line.isUnended} />
      </code>
    </span>
  );
}

function Number({
  side,
  line,
  isButton,
  mayComment,
  focusable,
}: ButtonProps & { side: Side; line: PatchLine; isButton: boolean }): ReactNode {
  const number = line[side];
  if (number === undefined) return <span className="n" />;
  if (!isButton || !mayComment) return <span className="n">{number}</span>;
  return (
    <button
      type="button"
      className="n"
      data-side={side}
      data-line={number}
      tabIndex={focusable === side ? 0 : -1}
      aria-label={words("review.line", { line: number, side })}
      aria-keyshortcuts="c"
    >
      {number}
    </button>
  );
}

const kindOf = (line: PatchLine) =>
  line.new === undefined ? "del" : line.old === undefined ? "add" : "same";
