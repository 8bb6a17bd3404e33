// Everything that the views of changes share: the list of files, the patches in sight, and what the person has written
// and seen.
import type { Session } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useMay } from "../../calls/use-may.ts";
import { words } from "../../words/words.ts";
import { personQuery } from "../access/index.ts";
import { findAnchor } from "./anchors.ts";
import { closedReason } from "./closed.ts";
import { usePatches, type ChangedFile, type FileRead } from "./changes.ts";
import { sideOf } from "./patch.ts";
import { reviewOf, type Comment, type Review, type ReviewStore } from "./review-store.ts";
import { rowsOfFile, type Layout, type Row } from "./rows.ts";

export interface Reviewing {
  sessionId: string;
  userId: string;
  files: readonly ChangedFile[];
  reads: ReadonlyMap<string, FileRead>;
  rows: readonly Row[];
  review: Review;
  store: ReviewStore;
  /** The files whose rows are in sight. */
  setInSight: (paths: ReadonlySet<string>) => void;
  openFile: (path: string) => void;
  setViewed: (path: string, isViewed: boolean) => void;
  /** Why nothing can be sent now; undefined if it can. */
  blocked: string | undefined;
  /** Whether the person may write comments here at all. */
  mayComment: boolean;
}

const nothing: ReadonlySet<string> = new Set();

export function useReviewing(
  session: Session,
  files: readonly ChangedFile[],
  layout: Layout,
): Reviewing {
  const { sessionId } = session;
  const { data: person } = useQuery(personQuery);
  const userId = person?.user.userId ?? "";
  const store = reviewOf(userId, sessionId);
  useEffect(() => void store.load(), [store]);
  const review = useSyncExternalStore(store.subscribe, store.get);
  const { comments, viewed } = review;
  const [inSight, setInSight] = useState(nothing);
  const [opened, setOpened] = useState(nothing);
  const wanted = useMemo(() => {
    const shown = files.filter(
      (file) => inSight.has(file.path) && (opened.has(file.path) || !closedReason(file, undefined)),
    );
    return new Set([...shown, ...comments].map(({ path }) => path));
  }, [files, inSight, opened, comments]);
  const reads = usePatches(sessionId, wanted, files);
  useMovedComments(store, comments, reads);

  const [rowsOf] = useState(createRowCache);
  const rows = useMemo(() => {
    const listed = files.flatMap((file) => {
      const { read, error } = reads.get(file.path) ?? {};
      const isViewed = viewed[file.path] !== undefined && viewed[file.path] === markOf(file, reads);
      const isOpened = opened.has(file.path);
      return rowsOf({ file, read, error, isViewed, isOpened }, comments, layout);
    });
    return [...listed, ...rowsOfOthers(files, comments)];
  }, [rowsOf, files, reads, viewed, opened, comments, layout]);

  const mayEdit = useMay("sessions:edit");
  const isOver = session.status === "ended" || session.status === "cleanup_failed";
  return {
    sessionId,
    userId,
    files,
    reads,
    rows,
    review,
    store,
    setInSight,
    openFile: (path) => setOpened((before) => new Set(before).add(path)),
    setViewed(path, isViewed) {
      const file = files.find((each) => each.path === path);
      if (file) store.setViewed(path, isViewed ? markOf(file, reads) : undefined);
    },
    mayComment: mayEdit && !isOver,
    blocked: !mayEdit
      ? words("session.may_not")
      : isOver
        ? words("review.over")
        : session.reachable
          ? undefined
          : words("session.host_offline"),
  };
}

/** Changes when the patch does. A file that stays closed has only its figures. */
function markOf(
  { path, added, removed }: ChangedFile,
  reads: ReadonlyMap<string, FileRead>,
): string {
  return reads.get(path)?.read?.patch.mark ?? `${added}+${removed}`;
}

/** Comments move along with their lines, and from there they are looked for the next time. */
function useMovedComments(
  store: ReviewStore,
  comments: readonly Comment[],
  reads: ReadonlyMap<string, FileRead>,
): void {
  useEffect(() => {
    for (const comment of comments) {
      const patch = reads.get(comment.path)?.read?.patch;
      const first = patch && findAnchor(sideOf(patch, comment.side), comment);
      if (first !== undefined) store.move(comment.id, first);
    }
  }, [store, comments, reads]);
}

/** Comments on files that are not changed any more stand at the end. */
function rowsOfOthers(files: readonly ChangedFile[], comments: readonly Comment[]): Row[] {
  const paths = new Set(files.map(({ path }) => path));
  const others = [...new Set(comments.map(({ path }) => path))].filter((path) => !paths.has(path));
  return others.flatMap((path): Row[] => [
    { is: "head", key: `${path}\nhead`, path, shown: undefined },
    { is: "note", key: `${path}\nnote:gone`, path, note: { is: "gone" } },
    ...comments
      .filter((comment) => comment.path === path)
      .map((comment): Row => ({ is: "comment", key: comment.id, path, comment, isLost: true })),
  ]);
}

type Shown = Parameters<typeof rowsOfFile>[0];

/** Makes the rows of a file again only if something about it has changed. */
function createRowCache() {
  const made = new Map<string, { from: readonly unknown[]; rows: Row[] }>();
  return (shown: Shown, all: readonly Comment[], layout: Layout): Row[] => {
    const { file, read, error, isViewed, isOpened } = shown;
    const comments = all.filter(({ path }) => path === file.path);
    const from = [file, read, error, isViewed, isOpened, layout, ...comments];
    const before = made.get(file.path);
    const isSame =
      before?.from.length === from.length && before.from.every((each, at) => each === from[at]);
    if (isSame) return before.rows;
    const rows = rowsOfFile(shown, comments, layout);
    made.set(file.path, { from, rows });
    return rows;
  };
}
