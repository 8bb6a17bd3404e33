// The changes of a session as rows of one list: for each file its head, its hunks with their lines, and the comments
// below their lines.
import { findAnchor } from "./anchors.ts";
import { closedReason, type ClosedReason } from "./closed.ts";
import type { ChangedFile, ReadPatch } from "./changes.ts";
import { sideOf, type Hunk, type PatchLine, type Side } from "./patch.ts";
import type { Comment } from "./review-store.ts";

export type Layout = "inline" | "split";

/** Why a file has no lines, or no more lines. */
export type FileNote =
  | { is: "loading"; lines: number }
  | { is: "failed"; error: unknown }
  | { is: "closed"; reason: ClosedReason }
  | { is: "no_lines" }
  | { is: "cut" }
  | { is: "gone" };

export interface ShownFile {
  file: ChangedFile;
  read: ReadPatch | undefined;
  error: unknown;
  isViewed: boolean;
  /** A person has opened it although it is one of those that stay closed. */
  isOpened: boolean;
}

interface Keyed {
  key: string;
  path: string;
}

export interface LineRow extends Keyed {
  is: "line";
  hunk: Hunk;
  /** Side by side each side has its own line; inline both are the same one. */
  old: PatchLine | undefined;
  new: PatchLine | undefined;
}

export type Row =
  /** Undefined: the file is not among the changed ones any more, and only its comments are left. */
  | (Keyed & { is: "head"; shown: ShownFile | undefined })
  | (Keyed & { is: "note"; note: FileNote })
  | (Keyed & { is: "hunk"; hunk: Hunk })
  | LineRow
  | (Keyed & { is: "comment"; comment: Comment; isLost: boolean });

export function rowsOfFile(shown: ShownFile, comments: readonly Comment[], layout: Layout): Row[] {
  const { file, read, error, isViewed, isOpened } = shown;
  const { path } = file;
  const rows: Row[] = [{ is: "head", key: `${path}\nhead`, path, shown }];
  const addNote = (note: FileNote) => {
    rows.push({ is: "note", key: `${path}\nnote:${note.is}`, path, note });
    return rows;
  };
  if (isViewed) return rows;
  const reason = closedReason(file, read?.patch);
  if (reason && (!isOpened || reason === "binary")) return addNote({ is: "closed", reason });
  if (!read) {
    return addNote(
      error ? { is: "failed", error } : { is: "loading", lines: file.added + file.removed },
    );
  }
  const { patch } = read;
  const ends = new Map<string, Comment[]>();
  for (const comment of comments) {
    const first = findAnchor(sideOf(patch, comment.side), comment);
    if (first === undefined) {
      rows.push({ is: "comment", key: comment.id, path, comment, isLost: true });
      continue;
    }
    const last = first + comment.lines.length - 1;
    const end = `${comment.side} ${last}`;
    ends.set(end, [...(ends.get(end) ?? []), { ...comment, first, last }]);
  }
  const addComments = (side: Side, line: PatchLine | undefined) => {
    for (const comment of ends.get(`${side} ${line?.[side]}`) ?? []) {
      rows.push({ is: "comment", key: comment.id, path, comment, isLost: false });
    }
  };
  for (const [at, hunk] of patch.hunks.entries()) {
    // Above the first lines of a file there is nothing to say.
    if (at > 0 || hunk.heading !== "") {
      rows.push({ is: "hunk", key: `${path}\nhunk:${at}`, path, hunk });
    }
    for (const [old, now] of layout === "split" ? pairs(hunk.lines) : singles(hunk.lines)) {
      const key = `${path}\n${old?.old ?? ""}:${now?.new ?? ""}`;
      rows.push({ is: "line", key, path, hunk, old, new: now });
      addComments("old", old);
      addComments("new", now);
    }
  }
  if (patch.hunks.length === 0) addNote({ is: "no_lines" });
  if (read.isCut) addNote({ is: "cut" });
  return rows;
}

type Pair = [old: PatchLine | undefined, now: PatchLine | undefined];

const singles = (lines: readonly PatchLine[]): Pair[] => lines.map((line) => [line, line]);

/** Removed lines stand beside the added ones that come after them. */
function pairs(lines: readonly PatchLine[]): Pair[] {
  const made: Pair[] = [];
  let gone: PatchLine[] = [];
  const flush = () => {
    for (const line of gone) made.push([line, undefined]);
    gone = [];
  };
  for (const line of lines) {
    if (line.new === undefined) gone.push(line);
    else if (line.old === undefined) made.push([gone.shift(), line]);
    else {
      flush();
      made.push([line, line]);
    }
  }
  flush();
  return made;
}

/** On which side a comment on this line stands: that of the line that is there now. */
export const sideOfLine = (line: PatchLine): Side => (line.new === undefined ? "old" : "new");
