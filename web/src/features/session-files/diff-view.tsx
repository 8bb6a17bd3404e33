// The changed files as one virtual list of rows: only what is in sight is on the page. The head of the file that is
// being read stays at the top.
import { defaultRangeExtractor, useVirtualizer, type Range } from "@tanstack/react-virtual";
import { useQueryClient } from "@tanstack/react-query";
import {
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type ReactNode,
  type Ref,
} from "react";
import type { LineReference } from "../../words/line-reference.ts";
import { anchorAt } from "./anchors.ts";
import { CommentView } from "./comment-view.tsx";
import { FileHead, NoteView } from "./file-head.tsx";
import { coloursOf, highlight, highlights } from "./highlighter.ts";
import { LineView } from "./line-view.tsx";
import { sideOf } from "./patch.ts";
import { pickedSide, rangeOf, rowAt, type Pick } from "./pick.ts";
import type { Comment } from "./review-store.ts";
import type { Layout, Row } from "./rows.ts";
import { usePick } from "./use-pick.ts";
import type { Reviewing } from "./use-reviewing.ts";

export interface DiffHandle {
  toFile: (path: string) => void;
  /** Undefined if the line is not shown; then its file is. */
  toLine: (reference: LineReference) => boolean;
  /** Leads to the next comment, or the former one, and around. */
  toComment: (step: 1 | -1) => void;
}

interface DiffViewProps {
  reviewing: Reviewing;
  layout: Layout;
  label: string;
  /** What stands at the right of the head at the top. */
  tools: ReactNode;
  onFile: (path: string) => void;
  ref: Ref<DiffHandle>;
}

export function DiffView({
  reviewing,
  layout,
  label,
  tools,
  onFile,
  ref,
}: DiffViewProps): ReactNode {
  const { rows, reads, store, setInSight, mayComment } = reviewing;
  const scroller = useRef<HTMLDivElement>(null);
  const queries = useQueryClient();
  useSyncExternalStore(highlights.subscribe, highlights.get);

  const heads = useMemo(() => rows.flatMap((row, at) => (row.is === "head" ? [at] : [])), [rows]);
  /** What the keys stand on stays on the page, or it would lose the focus. */
  const focused = useRef<number>(undefined);
  const topOf = (startIndex: number) => heads.findLast((at) => at <= startIndex) ?? 0;
  const rangeExtractor = (range: Range) => {
    const shown = new Set([topOf(range.startIndex), ...defaultRangeExtractor(range)]);
    if (focused.current !== undefined && focused.current < range.count) shown.add(focused.current);
    return [...shown].sort((a, b) => a - b);
  };
  // oxlint-disable-next-line react/incompatible-library -- nothing made with it is memoized
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => estimate(rows[at]!),
    getItemKey: (at) => rows[at]!.key,
    rangeExtractor,
    overscan: 12,
    scrollPaddingStart: headHeight,
  });
  const items = virtual.getVirtualItems();
  const top = topOf(virtual.range?.startIndex ?? 0);

  const sight = [...new Set(items.map(({ index }) => rows[index]!.path))].join("\n");
  const topPath = rows[top]?.path;
  useEffect(() => setInSight(new Set(sight.split("\n"))), [setInSight, sight]);
  useEffect(() => {
    if (topPath !== undefined) onFile(topPath);
  }, [onFile, topPath]);
  useEffect(() => {
    for (const { index } of items) {
      const row = rows[index];
      if (row?.is === "line") highlight(row.path, row.hunk);
    }
  });

  /** What gets the focus as soon as it is on the page. */
  const wanted = useRef<string>(undefined);
  const [, setFocusing] = useState(0);
  const focus = (selector: string, at: number) => {
    wanted.current = selector;
    focused.current = at;
    virtual.scrollToIndex(at, { align: "auto" });
    setFocusing((count) => count + 1);
  };
  useLayoutEffect(() => {
    if (wanted.current === undefined) return;
    const element = scroller.current!.querySelector<HTMLElement>(wanted.current);
    if (!element) return;
    wanted.current = undefined;
    element.focus({ preventScroll: true });
  });
  const focusLine = ({ path, side, to }: Pick): boolean => {
    const at = rowAt(rows, { path, side, line: to });
    if (at === undefined) return false;
    focus(`[data-index="${at}"] button.n[data-side="${side}"]`, at);
    return true;
  };

  const newest = useRef<string>(undefined);
  const takesFocus = useCallback((id: string) => {
    const isNewest = newest.current === id;
    if (isNewest) newest.current = undefined;
    return isNewest;
  }, []);
  const comment = (pick: Pick) => {
    const patch = reads.get(pick.path)?.read?.patch;
    if (!patch || !mayComment) return;
    const { path, side } = pick;
    newest.current = store.begin(anchorAt(sideOf(patch, side), { path, side, ...rangeOf(pick) }));
  };
  const { pick, setPick, handlers } = usePick({
    rows,
    layout,
    onFocus: focusLine,
    onComment: comment,
  });
  const leave = ({ path, side, first, last }: Comment) => {
    const pick = { path, side, from: first, to: last };
    setPick(pick);
    if (!focusLine(pick)) scroller.current?.focus();
  };

  useImperativeHandle(ref, () => ({
    toFile(path) {
      const at = rows.findIndex((row) => row.is === "head" && row.path === path);
      if (at !== -1) virtual.scrollToIndex(at, { align: "start" });
    },
    toLine({ path, side, first, last }) {
      const pick = { path, side, from: first, to: last };
      if (rowAt(rows, { path, side, line: last }) === undefined) return false;
      setPick(pick);
      return focusLine(pick);
    },
    toComment(step) {
      const all = rows.flatMap((row, at) => (row.is === "comment" ? [at] : []));
      const from = document.activeElement?.closest<HTMLElement>("[data-index]")?.dataset["index"];
      const here = from === undefined ? top : Number(from);
      const next =
        step === 1
          ? (all.find((at) => at > here) ?? all[0])
          : (all.findLast((at) => at < here) ?? all.at(-1));
      const row = next === undefined ? undefined : rows[next];
      if (next === undefined || row?.is !== "comment") return;
      focus(`[data-comment="${row.comment.id}"]`, next);
    },
  }));

  const draw = (row: Row, at: number): ReactNode => {
    switch (row.is) {
      case "head":
        return (
          <FileHead row={row} onViewed={reviewing.setViewed}>
            {at === top && tools}
          </FileHead>
        );
      case "note":
        return (
          <NoteView
            row={row}
            onOpen={reviewing.openFile}
            onAgain={() =>
              void queries.invalidateQueries({
                queryKey: [
                  "get_session_file_diff",
                  { sessionId: reviewing.sessionId, path: row.path },
                ],
              })
            }
          />
        );
      case "hunk":
        return (
          <div className="dl hunk">
            @@ {row.hunk.heading} {row.hunk.heading === "" ? "" : "@@"}
          </div>
        );
      case "line": {
        const now = row.new ?? row.old;
        return (
          <LineView
            row={row}
            layout={layout}
            mayComment={mayComment}
            focusable={focusableSide(row, at)}
            picked={pickedSide(pick, row)}
            oldColours={row.old && coloursOf(row.old)}
            newColours={now && coloursOf(now)}
          />
        );
      }
      case "comment":
        return (
          <div className={`dl-remark ${row.comment.side}`}>
            <CommentView
              // A field that is opened again begins with what is kept.
              key={row.comment.state}
              comment={row.comment}
              isLost={row.isLost}
              store={store}
              onEdit={(id) => {
                newest.current = id;
                store.edit(id);
              }}
              takesFocus={takesFocus}
              onLeave={leave}
            />
          </div>
        );
      default:
        return row satisfies never;
    }
  };
  /** The Tab key reaches one line: the picked one, or the first on the page. */
  const firstLine = items.find(({ index }) => rows[index]!.is === "line")?.index;
  const pickRow = pick && rowAt(rows, { path: pick.path, side: pick.side, line: pick.to });
  const reached = items.some(({ index }) => index === pickRow) ? pickRow : firstLine;
  const focusableSide = (row: Extract<Row, { is: "line" }>, at: number) => {
    if (at !== reached) return undefined;
    if (at === pickRow) return pick!.side;
    return row.new?.new === undefined ? "old" : "new";
  };

  return (
    <div
      ref={scroller}
      className={`diff ${layout}`}
      role="region"
      aria-label={label}
      tabIndex={0}
      {...handlers}
    >
      <div className="diff-rows" style={{ height: virtual.getTotalSize() }}>
        {items.map(({ key, index, start }) => {
          const isTop = index === top;
          return (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className={isTop ? "diff-row top" : "diff-row"}
              style={isTop ? {} : { transform: `translateY(${start}px)` }}
            >
              {draw(rows[index]!, index)}
            </div>
          );
        })}
      </div>
    </div>
  );
}

const headHeight = 36;
const lineHeight = 19;

/** A guess until the row is measured; a good one keeps the scrollbar still. */
function estimate(row: Row): number {
  switch (row.is) {
    case "head":
      return headHeight;
    case "hunk":
      return 25;
    case "note":
      return row.note.is === "loading" ? Math.max(44, row.note.lines * lineHeight) : 44;
    case "comment":
      return 110;
    case "line":
      return lineHeight;
    default:
      return row satisfies never;
  }
}
