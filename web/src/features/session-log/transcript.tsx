// The transcript: one virtual list of rows. It opens at its end, or where this person was reading; it follows its end
// only for somebody who has scrolled there; and nothing that changes above moves what is being read.
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { words } from "../../words/words.ts";
import { endDistance, nextFollow, type FollowEvent, type FollowState } from "./follow.ts";
import { foldsOf, FoldsOfSession } from "./folds.ts";
import type { DrawnRow } from "./drawn-row.ts";
import { RowView } from "./row-view.tsx";

interface TranscriptProps {
  sessionId: string;
  rows: readonly DrawnRow[];
  lastSeq: number;
  hasOlder: boolean;
  onNearTop: () => void;
}

/** Older pages are read before the first row comes into sight. */
const nearTopRows = 12;
const framesToRestore = 10;

export function Transcript({
  sessionId,
  rows,
  lastSeq,
  hasOlder,
  onNearTop,
}: TranscriptProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const folds = foldsOf(sessionId);
  const [follow, setFollow] = useState<FollowState>(() => ({
    isFollowing: folds.place === undefined,
    way: undefined,
  }));
  /** The newest entry when the person left the end. */
  const [leftAt, setLeftAt] = useState(lastSeq);
  const { isFollowing } = follow;
  const dispatch = (event: FollowEvent) => setFollow((state) => nextFollow(state, event));
  useEffect(() => {
    if (isFollowing) setLeftAt(lastSeq);
  }, [isFollowing, lastSeq]);

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: (at) => estimate(rows[at]!),
    getItemKey: (at) => rows[at]!.key,
    overscan: 8,
    anchorTo: "end",
    followOnAppend: isFollowing,
    // Within this distance the list pulls back to its end, which nobody wants who is reading just above it.
    scrollEndThreshold: isFollowing ? endDistance : -1,
  });

  const hasRows = rows.length > 0;
  useLayoutEffect(() => {
    if (!hasRows) return undefined;
    const { place } = folds;
    const at = place ? rows.findIndex(({ key }) => key === place.key) : -1;
    if (!place || at === -1) {
      // The virtual list opens at its beginning unless it is scrolled.
      virtual.scrollToEnd();
      setFollow({ isFollowing: true, way: undefined });
      return undefined;
    }
    // Rows above get their real heights only when they are drawn, so the place is looked for again in each frame.
    let left = framesToRestore;
    let frame = 0;
    const restore = () => {
      const row = virtual.measurementsCache[at];
      if (row) virtual.scrollToOffset(row.start + place.offset);
      left -= 1;
      if (left > 0) frame = requestAnimationFrame(restore);
    };
    virtual.scrollToIndex(at, { align: "start" });
    restore();
    return () => cancelAnimationFrame(frame);
    // oxlint-disable-next-line react/exhaustive-deps -- once for each session, when its first rows are there
  }, [sessionId, hasRows]);

  // The dock grows with a request or a long draft; who follows the end still sees it.
  useLayoutEffect(() => {
    if (!isFollowing) return undefined;
    const observer = new ResizeObserver(() => virtual.scrollToEnd());
    observer.observe(scroller.current!);
    return () => observer.disconnect();
  }, [isFollowing, virtual]);

  const items = virtual.getVirtualItems();
  const firstShown = items[0]?.index ?? 0;
  useEffect(() => {
    if (hasOlder && hasRows && firstShown < nearTopRows) onNearTop();
  }, [hasOlder, hasRows, firstShown, onNearTop, rows.length]);

  const scrolledTo = useRef(0);
  const onScroll = () => {
    const element = scroller.current!;
    const { scrollTop, scrollHeight, clientHeight } = element;
    const by = scrollTop - scrolledTo.current;
    scrolledTo.current = scrollTop;
    dispatch({ is: "scrolled", distance: scrollHeight - clientHeight - scrollTop, by });
    const first = virtual.getVirtualItemForOffset(scrollTop);
    if (first) folds.place = { key: String(first.key), offset: scrollTop - first.start };
  };
  useEffect(() => {
    if (isFollowing) folds.place = undefined;
  });
  const toEnd = () => {
    dispatch({ is: "end" });
    virtual.scrollToEnd();
  };
  useReadingAbove(scroller, (way) => dispatch({ is: way }));

  const context = useMemo(() => ({ folds, onToggle: () => dispatch({ is: "up" }) }), [folds]);
  const missed = lastSeq - leftAt;
  return (
    <FoldsOfSession value={context}>
      <div
        ref={scroller}
        className="log"
        role="log"
        aria-live="off"
        aria-label={words("transcript")}
        tabIndex={0}
        onScroll={onScroll}
        onKeyDown={(event) => {
          const way = wayOf(event);
          if (way === "end") toEnd();
          else if (way) dispatch({ is: way });
        }}
      >
        <div className="log-rows" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ key, index, start }) => (
            <div
              key={key}
              ref={virtual.measureElement}
              data-index={index}
              className={isTight(rows[index]!, rows[index + 1]) ? "log-row tight" : "log-row"}
              style={{ transform: `translateY(${start}px)` }}
            >
              <RowView row={rows[index]!} />
            </div>
          ))}
        </div>
      </div>
      {!isFollowing && hasRows && (
        <div className="dock" style={{ padding: 0 }}>
          <button type="button" className="btn jump" onClick={toEnd}>
            <ArrowDown className="icon s" aria-hidden />
            {missed > 0 ? words("transcript.new", { n: missed }) : words("transcript.end")}
          </button>
        </div>
      )}
    </FoldsOfSession>
  );
}

/** Calls in a row stand close together. */
const isTight = (row: DrawnRow, next: DrawnRow | undefined): boolean => isLine(row) && isLine(next);
const isLine = (row: DrawnRow | undefined): boolean =>
  row !== undefined &&
  (["fold", "call", "lane", "lanes", "thought"].includes(row.is) ||
    (row.is === "note" && row.note.of === "request"));

/** A guess until the row is measured; a good one keeps the scrollbar still. */
function estimate(row: DrawnRow): number {
  if (row.is === "prose") return 24 + Math.ceil(row.text.length / 90) * 22;
  if (row.is === "prompt") return 64 + Math.ceil(row.text.length / 90) * 22;
  if (row.is === "plan") return 30 + row.steps.length * 26;
  return isLine(row) ? 28 : 36;
}

function wayOf({ key, target, currentTarget }: KeyboardEvent): "up" | "down" | "end" | undefined {
  if (target !== currentTarget) return undefined;
  if (["ArrowUp", "PageUp", "Home"].includes(key)) return "up";
  if (["ArrowDown", "PageDown"].includes(key)) return "down";
  return key === "End" ? "end" : undefined;
}

/** Reports which way wheels and fingers lead, and a selection of text as reading. */
function useReadingAbove(
  scroller: { current: HTMLElement | null },
  onWay: (way: "up" | "down") => void,
): void {
  const move = useEffectEvent(onWay);
  useEffect(() => {
    const element = scroller.current!;
    const ended = new AbortController();
    const options = { passive: true, signal: ended.signal };
    element.addEventListener(
      "wheel",
      ({ deltaY }) => {
        if (deltaY !== 0) move(deltaY < 0 ? "up" : "down");
      },
      options,
    );
    let touchedAt = 0;
    element.addEventListener(
      "touchstart",
      ({ touches }) => (touchedAt = touches[0]!.clientY),
      options,
    );
    element.addEventListener(
      "touchmove",
      ({ touches }) => {
        const y = touches[0]!.clientY;
        if (y !== touchedAt) move(y > touchedAt ? "up" : "down");
        touchedAt = y;
      },
      options,
    );
    // The scrollbar: whoever drags it to the end wants to follow.
    element.addEventListener(
      "pointerdown",
      ({ offsetX }) => {
        if (offsetX > element.clientWidth) move("down");
      },
      options,
    );
    document.addEventListener(
      "selectionchange",
      () => {
        const selection = document.getSelection();
        if (!selection || selection.isCollapsed) return;
        if (element.contains(selection.anchorNode)) move("up");
      },
      options,
    );
    return () => ended.abort();
  }, [scroller]);
}
