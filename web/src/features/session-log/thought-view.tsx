// What the agent thought: one line.
import type { ReactNode } from "react";
import { duration } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { FoldLine } from "./fold-line.tsx";
import { useFold } from "./folds.ts";
import { Markdown } from "./markdown.tsx";
import type { ThoughtRow } from "./row.ts";

export function ThoughtView({ row }: { row: ThoughtRow }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  const line = row.isOpen
    ? words("thought.now")
    : row.ms === undefined || row.ms < 1_000
      ? words("thought")
      : words("thought.for", { time: duration(row.ms) });
  return (
    <div>
      <FoldLine isOpen={isOpen} onToggle={toggle}>
        {line}
      </FoldLine>
      {isOpen && (
        <div className="calls">
          <Markdown text={row.text} isOpen={row.isOpen} />
        </div>
      )}
    </div>
  );
}
