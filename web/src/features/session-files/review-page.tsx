// /sessions/:sessionId/review: the changes of a session over the whole width, side by side. Where there is no room for
// two columns it is the tab of the changes.
import type { Session } from "@hawser/client";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import { useIsNarrow } from "../../design/narrow.ts";
import { readLineReference } from "../../words/line-reference.ts";
import { words } from "../../words/words.ts";
import { useAct } from "../../keyboard/index.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import { ChangesView } from "./changes-view.tsx";
import type { ChangedFile } from "./changes.ts";
import { DiffView, type DiffHandle } from "./diff-view.tsx";
import { FileList } from "./file-list.tsx";
import type { Layout } from "./rows.ts";
import { Tray } from "./tray.tsx";
import { useReviewing, type Reviewing } from "./use-reviewing.ts";

interface ReviewPageProps {
  session: Session;
  snapshot: LogSnapshot;
  /** Back to the conversation. Undefined where tabs lead back. */
  onClose: (() => void) | undefined;
}

export function ReviewPage({ session, snapshot, onClose }: ReviewPageProps): ReactNode {
  return (
    <ChangesView session={session} snapshot={snapshot}>
      {(files, note) => <Review session={session} files={files} note={note} onClose={onClose} />}
    </ChangesView>
  );
}

function Review({
  session,
  files,
  note,
  onClose,
}: Pick<ReviewPageProps, "session" | "onClose"> & {
  files: readonly ChangedFile[];
  note: ReactNode;
}): ReactNode {
  const isNarrow = useIsNarrow();
  const [chosen, setChosen] = useState<Layout>("split");
  const layout = isNarrow ? "inline" : chosen;
  const reviewing = useReviewing(session, files, layout);
  const diff = useRef<DiffHandle>(null);
  const [current, setCurrent] = useState<string>();
  useCommentKeys(diff);
  useLineOfAddress(diff, reviewing);
  const sum = (of: "added" | "removed") => files.reduce((total, file) => total + file[of], 0);
  const toFile = (path: string) => {
    diff.current?.toFile(path);
    setCurrent(path);
  };
  const view = (
    <DiffView
      ref={diff}
      reviewing={reviewing}
      layout={layout}
      label={words(layout === "split" ? "review.split" : "review.inline")}
      tools={isNarrow ? null : <LayoutChoice value={chosen} onChoose={setChosen} />}
      onFile={setCurrent}
    />
  );
  const list = (
    <FileList
      files={files}
      reads={reviewing.reads}
      current={current}
      isShort={!isNarrow}
      onChoose={toFile}
    />
  );
  const hasRows = reviewing.rows.length > 0;
  if (isNarrow) {
    return (
      <div className="changes">
        <div className="changes-top">
          {list}
          {note}
        </div>
        {hasRows && view}
        <Tray reviewing={reviewing} />
      </div>
    );
  }
  return (
    <div className="review">
      <aside aria-label={words("review.files")}>
        <div className="review-top">
          <b>{words("review.count", { n: files.length })}</b>{" "}
          <span className="mono plus">+{sum("added")}</span>{" "}
          <span className="mono minus">−{sum("removed")}</span>
          {onClose && (
            <button type="button" className="btn sm push" onClick={onClose}>
              {words("review.close")} <kbd>]</kbd>
            </button>
          )}
        </div>
        {note}
        {list}
        <Tray
          reviewing={reviewing}
          onChoose={(comment) => {
            if (!diff.current?.toLine(comment)) toFile(comment.path);
          }}
        />
      </aside>
      {hasRows && view}
    </div>
  );
}

function LayoutChoice({
  value,
  onChoose,
}: {
  value: Layout;
  onChoose: (layout: Layout) => void;
}): ReactNode {
  return (
    <span className="seg" role="group" aria-label={words("review.layout")}>
      {(["inline", "split"] as const).map((layout) => (
        <button
          key={layout}
          type="button"
          aria-pressed={layout === value}
          onClick={() => onChoose(layout)}
        >
          {words(`review.${layout}`)}
        </button>
      ))}
    </span>
  );
}

/** N and J lead to the next comment, K to the former one. In a list J and K are the list's. */
function useCommentKeys(diff: { current: DiffHandle | null }): void {
  const go = (step: 1 | -1) => {
    if (document.activeElement?.closest("[data-list]")) return false;
    return diff.current?.toComment(step);
  };
  useAct("next_comment", () => go(1));
  useAct("former_comment", () => go(-1));
}

/** ?line=src/a.ts:3-5 (new) leads to these lines once they are there; then the address is as before. */
function useLineOfAddress(diff: { current: DiffHandle | null }, { rows, reads }: Reviewing): void {
  const navigate = useNavigate();
  const { line } = useSearch({ strict: false });
  const wanted = line === undefined ? undefined : readLineReference(line);
  const isRead = wanted !== undefined && reads.get(wanted.path)?.read !== undefined;
  const lead = useEffectEvent((isRead: boolean) => {
    if (!wanted) return;
    // The file's lines are read once its head is in sight.
    const isThere = diff.current?.toLine(wanted) ?? false;
    if (!isThere) diff.current?.toFile(wanted.path);
    if (isThere || isRead || !rows.some(({ path }) => path === wanted.path)) {
      void navigate({
        to: ".",
        search: (before) => ({ ...before, line: undefined }),
        replace: true,
      });
    }
  });
  useEffect(() => {
    if (line !== undefined) lead(isRead);
  }, [line, isRead]);
}
