// Draws a row. Each kind of row has a component; a row that fails to draw says so alone.
import { Component, memo, type ReactNode } from "react";
import { words } from "../../words/words.ts";
import { CallView, FoldView } from "./call-view.tsx";
import { DrawRow, type DrawnRow } from "./drawn-row.ts";
import { LanesView, LaneView } from "./lane-view.tsx";
import { Markdown } from "./markdown.tsx";
import { NoteView, RevertedView } from "./note-view.tsx";
import { PlanView } from "./plan-view.tsx";
import { PromptView } from "./prompt-view.tsx";
import { ShellView } from "./shell-view.tsx";
import { ThoughtView } from "./thought-view.tsx";

export const RowView = memo(function RowView({ row }: { row: DrawnRow }): ReactNode {
  return (
    <RowBoundary key={row.key}>
      <DrawRow value={drawRow}>
        <Drawn row={row} />
      </DrawRow>
    </RowBoundary>
  );
});

const drawRow = (row: DrawnRow): ReactNode => <RowView key={row.key} row={row} />;

function Drawn({ row }: { row: DrawnRow }): ReactNode {
  switch (row.is) {
    case "prompt":
    case "pending":
      return <PromptView row={row} />;
    case "prose":
      return <Markdown text={row.text} isOpen={row.isOpen} />;
    case "thought":
      return <ThoughtView row={row} />;
    case "call":
      return <CallView call={row.call} />;
    case "fold":
      return <FoldView row={row} />;
    case "lane":
      return <LaneView row={row} depth={0} />;
    case "lanes":
      return <LanesView row={row} depth={0} />;
    case "plan":
      return <PlanView row={row} />;
    case "shell":
      return <ShellView row={row} />;
    case "note":
      return <NoteView row={row} />;
    default:
      return <RevertedView row={row} />;
  }
}

/** One entry that cannot be drawn must not take the transcript away. */
class RowBoundary extends Component<{ children: ReactNode }, { hasFailed: boolean }> {
  override state = { hasFailed: false };
  static getDerivedStateFromError() {
    return { hasFailed: true };
  }
  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return <p className="by">{words("note.unknown")}</p>;
  }
}
