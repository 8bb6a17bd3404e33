// Sub-agents: a line each, closed by default, also while they run. Opened, the same rows as in the transcript.
import { useContext, type ReactNode } from "react";
import { Mark, type MarkState } from "../../design/mark.tsx";
import { useNow } from "../../design/ago.tsx";
import { duration } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { durationOf, laneTitle, outputOf } from "./call-words.ts";
import { Output } from "./call-view.tsx";
import { DrawRow } from "./drawn-row.ts";
import { FoldLine } from "./fold-line.tsx";
import { foldMs } from "./fold.ts";
import { useFold } from "./folds.ts";
import { lanesWords } from "./lanes.ts";
import type { Call, LaneRow, LanesRow, Row } from "./row.ts";

const marks: Record<Call["state"], MarkState> = {
  running: "run",
  completed: "done",
  failed: "err",
  unfinished: "end",
};

export function LaneView({ row, depth }: { row: LaneRow; depth: number }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  const { call, state, now, rows } = row;
  return (
    <div>
      <FoldLine isOpen={isOpen} onToggle={toggle} className="lane-line" time={undefined}>
        <span className="m">
          <Mark state={marks[state]} label={words(`call.${state}`)} />
        </span>
        <b className="cut">{laneTitle(call)}</b>
        <span className="now cut">{state === "running" ? now : ""}</span>
        <span className="time">
          <LaneTime row={row} />
        </span>
      </FoldLine>
      {isOpen && <LaneRows rows={rows} depth={depth} />}
      {!isOpen && state === "failed" && (
        <Output output={outputOf(call)} most={5} onShowAll={toggle} />
      )}
    </div>
  );
}

export function LanesView({ row, depth }: { row: LanesRow; depth: number }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  return (
    <div>
      <FoldLine
        isOpen={isOpen}
        onToggle={toggle}
        time={duration(foldMs(row.lanes.map(({ call }) => call)))}
      >
        <span className="cut">{lanesWords(row.lanes)}</span>
      </FoldLine>
      {isOpen && (
        <div className="calls">
          {row.lanes.map((lane) => (
            <LaneView key={lane.key} row={lane} depth={depth} />
          ))}
        </div>
      )}
    </div>
  );
}

/** Deeper lanes are not indented further: on a phone nothing would be left to read. */
const deepest = 3;

function LaneRows({ rows, depth }: { rows: readonly Row[]; depth: number }): ReactNode {
  const draw = useContext(DrawRow);
  return (
    <div className={depth < deepest ? "calls" : undefined}>
      <div className="log-rows-inside">
        {rows.map((row) =>
          row.is === "lane" ? (
            <LaneView key={row.key} row={row} depth={depth + 1} />
          ) : row.is === "lanes" ? (
            <LanesView key={row.key} row={row} depth={depth + 1} />
          ) : (
            draw(row)
          ),
        )}
      </div>
    </div>
  );
}

function LaneTime({ row }: { row: LaneRow }): ReactNode {
  const now = useNow(1_000);
  const { call, state } = row;
  const ms = durationOf(call);
  if (state === "running" || ms === undefined) {
    return duration(Math.max(0, Math.floor((now - Date.parse(call.at)) / 1000) * 1000));
  }
  return duration(ms);
}
