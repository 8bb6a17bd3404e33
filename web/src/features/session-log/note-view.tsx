// Thin lines, and what a revert took back.
import { Suspense, useContext, type ReactNode } from "react";
import { part } from "../../design/part.tsx";
import { words } from "../../words/words.ts";
import { DrawRow } from "./drawn-row.ts";
import { FoldLine } from "./fold-line.tsx";
import { useFold } from "./folds.ts";
import { textOf } from "./notes.ts";
import { PutBack } from "./put-back.ts";
import type { NoteRow, RevertedRow } from "./row.ts";

const ShowWhole = part(async () => (await import("./whole-entry.tsx")).ShowWhole);

export function NoteView({ row }: { row: NoteRow }): ReactNode {
  const { text, tone, detail, reason } = textOf(row);
  const [isOpen, toggle] = useFold(row.key);
  const putBack = useContext(PutBack);
  const { note } = row;
  const canPutBack = note.of === "dropped" && note.text !== undefined && putBack !== undefined;
  const line =
    tone === "quiet" ? (
      detail === undefined ? (
        <p className="fold-line still">
          <span className="cut">{text}</span>
        </p>
      ) : (
        <FoldLine isOpen={isOpen} onToggle={toggle}>
          <span className="cut">{text}</span>
        </FoldLine>
      )
    ) : detail === undefined ? (
      <p className={tone === "bad" ? "turn-end bad" : "turn-end"}>{text}</p>
    ) : (
      <button type="button" className="turn-end" aria-expanded={isOpen} onClick={toggle}>
        {text}
      </button>
    );
  return (
    <div>
      {line}
      {reason !== undefined && <p className="reason">{reason}</p>}
      {isOpen && detail !== undefined && <pre className="out">{detail}</pre>}
      {note.of === "cut" && note.omitted === undefined && (
        <Suspense>
          <ShowWhole seq={row.seq!} size={note.size} />
        </Suspense>
      )}
      {canPutBack && (
        <button type="button" className="btn sm" onClick={() => putBack([note.text!])}>
          {words("note.put_back")}
        </button>
      )}
    </div>
  );
}

export function RevertedView({ row }: { row: RevertedRow }): ReactNode {
  const [isOpen, toggle] = useFold(row.key);
  const draw = useContext(DrawRow);
  return (
    <div>
      <p className="turn-end">{words("note.reverted")}</p>
      {row.rows.length > 0 && (
        <FoldLine isOpen={isOpen} onToggle={toggle}>
          {words("note.reverted.rows", { n: row.rows.length })}
        </FoldLine>
      )}
      {isOpen && (
        <div className="calls reverted">
          <div className="log-rows-inside">{row.rows.map(draw)}</div>
        </div>
      )}
    </div>
  );
}
