// The head of a file in a diff, and what stands there instead of its lines.
import type { ReactNode } from "react";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Patch } from "./patch.ts";
import type { FileNote, Row } from "./rows.ts";
import type { ChangedFile } from "./changes.ts";

export function FileHead({
  row: { path, shown },
  onViewed,
  children,
}: {
  row: Extract<Row, { is: "head" }>;
  onViewed: (path: string, isViewed: boolean) => void;
  children?: ReactNode;
}): ReactNode {
  const previous = shown && previousOf(shown.file, shown.read?.patch);
  return (
    <div className="diff-head">
      <h2 className="mono cut" title={path}>
        {previous !== undefined && (
          <>
            <span className="dim">
              <Plain text={previous} />
            </span>{" "}
            →{" "}
          </>
        )}
        <Plain text={path} />
      </h2>
      {shown && (
        <label className="push">
          <input
            type="checkbox"
            checked={shown.isViewed}
            onChange={({ target }) => onViewed(path, target.checked)}
          />{" "}
          {words("review.viewed")}
        </label>
      )}
      {children}
    </div>
  );
}

export function NoteView({
  row: { path, note },
  onOpen,
  onAgain,
}: {
  row: Extract<Row, { is: "note" }>;
  onOpen: (path: string) => void;
  onAgain: () => void;
}): ReactNode {
  return (
    <div className="file-note" role={note.is === "failed" ? "alert" : undefined}>
      <span>{wordsOf(note)}</span>
      {note.is === "closed" && note.reason !== "binary" && (
        <button type="button" className="btn sm" onClick={() => onOpen(path)}>
          {words("review.show")}
        </button>
      )}
      {note.is === "failed" && (
        <button type="button" className="btn sm" onClick={onAgain}>
          {words("try_again")}
        </button>
      )}
    </div>
  );
}

function wordsOf(note: FileNote): string {
  switch (note.is) {
    case "loading":
      return words("review.reading");
    case "failed":
      return note.error instanceof Error ? note.error.message : String(note.error);
    case "closed":
      return words(`review.closed.${note.reason}`);
    case "no_lines":
      return words("review.no_lines");
    case "cut":
      return words("review.cut");
    case "gone":
      return words("review.gone");
    default:
      return note satisfies never;
  }
}

/** What a list of an older host does not say, the head of the patch does. */
export const statusOf = (file: ChangedFile, patch: Patch | undefined) =>
  file.status ?? patch?.status;

const previousOf = (file: ChangedFile, patch: Patch | undefined) =>
  file.previousPath ?? patch?.previousPath;
