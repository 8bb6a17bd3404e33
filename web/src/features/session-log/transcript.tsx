// The transcript: one virtual list of rows. It opens at its end, or where this person was reading; it follows its end
// only for somebody who has scrolled there; and nothing that changes above moves what is being read.
import { useVirtualizer } from "@tanstack/react-virtual";
import { ArrowDown } from "lucide-react";
import {
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type Ref,
} from "react";
import { words } from "../../words/words.ts";
import { endDistance, nextFollow, type FollowEvent, type FollowState } from "./follow.ts";
import { foldsOf, FoldsOfSession, type Place } from "./folds.ts";
import type { DrawnRow } from "./drawn-row.ts";
import type { Entry, Row } from "./row.ts";
import { RowView } from "./row-view.tsx";

interface TranscriptProps {
  sessionId: string;
  rows: readonly DrawnRow[];
  lastSeq: number;
  hasOlder: boolean;
  onNearTop: () => void;
  /** What is to be brought into sight, once for each object. Its entry must be loaded. */
  target?: Target | undefined;
  /** The end is in sight of somebody who looks. */
  onEndSeen?: (() => void) | undefined;
  ref?: Ref<TranscriptHandle>;
}

export interface Target {
  entry: Entry;
  /** What was looked for in it. */
  text: string | undefined;
  /** Called with the row and what was opened for it. */
  onShown?: (shown: { at: number; toolCallId: string | undefined; opened: string[] }) => void;
}

export interface TranscriptHandle {
  element: () => HTMLElement | null;
  toEnd: () => void;
  /** To the prompt of the turn that runs, or else to that of the first row in sight. */
  toPrompt: (messageId: string | undefined) => void;
  toggleFolds: () => void;
  closeFolds: (keys: readonly string[]) => void;
  /** The entry at which a person reads; undefined at the end. */
  place: () => Place | undefined;
  goTo: (place: Place | undefined) => void;
  /** `seq` of the first row in sight. */
  firstSeq: () => number;
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
  target,
  onEndSeen,
  ref,
}: TranscriptProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const folds = foldsOf(sessionId);
  const [follow, setFollow] = useState<FollowState>(() => ({
    isFollowing: folds.place === undefined && !target,
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
    // Rows are drawn in a task after the scroll, not within it, which halves the longest task.
    useFlushSync: false,
    anchorTo: "end",
    followOnAppend: isFollowing,
    // Within this distance the list pulls back to its end, which nobody wants who is reading just above it.
    scrollEndThreshold: isFollowing ? endDistance : -1,
  });

  const hasRows = rows.length > 0;
  /** Rows above get their real heights only when they are drawn, so the place is looked for again in each frame. */
  const restore = (place: Place) => {
    const at = rows.findIndex(({ key }) => key === place.key);
    let left = framesToRestore;
    let frame = 0;
    const look = () => {
      const row = virtual.measurementsCache[at];
      if (row) virtual.scrollToOffset(row.start + place.offset);
      left -= 1;
      if (left > 0) frame = requestAnimationFrame(look);
    };
    virtual.scrollToIndex(at, { align: "start" });
    look();
    return () => cancelAnimationFrame(frame);
  };
  useLayoutEffect(() => {
    if (!hasRows || target) return undefined;
    const { place } = folds;
    const at = place ? rows.findIndex(({ key }) => key === place.key) : -1;
    if (!place || at === -1) {
      // The virtual list opens at its beginning unless it is scrolled.
      virtual.scrollToEnd();
      setFollow({ isFollowing: true, way: undefined });
      return undefined;
    }
    return restore(place);
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
  const placeNow = (): Place | undefined => {
    const { scrollTop } = scroller.current!;
    const first = virtual.getVirtualItemForOffset(scrollTop);
    return first && { key: String(first.key), offset: scrollTop - first.start };
  };
  const drawRow = (at: number) => virtual.scrollToIndex(at, { align: "center" });
  const show = (at: number, toolCallId?: string, text?: string) => {
    dispatch({ is: "up" });
    void import("./reveal.ts").then(({ reveal }) =>
      reveal(scroller.current!, { at, toolCallId, text }, drawRow),
    );
  };
  useImperativeHandle(ref, () => ({
    element: () => scroller.current,
    toEnd,
    toPrompt(messageId) {
      const first = virtual.getVirtualItemForOffset(scroller.current!.scrollTop)?.index ?? 0;
      const at =
        messageId === undefined
          ? rows.findLastIndex((row, n) => row.is === "prompt" && n <= first)
          : rows.findLastIndex((row) => row.is === "prompt" && row.messageId === messageId);
      if (at !== -1) show(at);
    },
    toggleFolds() {
      const place = isFollowing ? undefined : placeNow();
      dispatch({ is: "up" });
      folds.toggleAll();
      if (place) restore(place);
    },
    closeFolds: folds.close,
    place: () => (isFollowing ? undefined : placeNow()),
    goTo(place) {
      if (!place) toEnd();
      else if (rows.some(({ key }) => key === place.key)) restore(place);
    },
    firstSeq() {
      const first = virtual.getVirtualItemForOffset(scroller.current!.scrollTop);
      return rows[first?.index ?? 0]?.seq ?? 0;
    },
  }));
  const shown = useRef<Target>(undefined);
  useEffect(() => {
    if (!target || shown.current === target) return;
    // The entry is loaded, but these rows may have been made before.
    if (hasOlder && (rows[0]?.seq ?? Infinity) > target.entry.seq) return;
    shown.current = target;
    const lead = async () => {
      const { locate } = await import("./locate.ts");
      const found = locate(rows.filter(isOfLog), target.entry);
      if (!found) return;
      const { at, opens, toolCallId } = found;
      target.onShown?.({ at, toolCallId, opened: folds.open(opens) });
      show(at, toolCallId, target.text);
    };
    void lead();
  });
  const endSeen = useEffectEvent(() => {
    if (isFollowing && document.visibilityState === "visible") onEndSeen?.();
  });
  useEffect(() => {
    endSeen();
    document.addEventListener("visibilitychange", endSeen);
    return () => document.removeEventListener("visibilitychange", endSeen);
  }, [isFollowing, lastSeq]);
  useReadingAbove(scroller, (way) => dispatch({ is: way }));

  const context = useMemo(
    () => ({ sessionId, folds, onToggle: () => dispatch({ is: "up" }) }),
    [sessionId, folds],
  );
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
          if (way) dispatch({ is: way });
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

/** Prompts that the log does not have yet stand behind all rows of the log. */
const isOfLog = (row: DrawnRow): row is Row => row.is !== "pending";

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

function wayOf({ key, target, currentTarget }: KeyboardEvent): "up" | "down" | undefined {
  if (target !== currentTarget) return undefined;
  if (["ArrowUp", "PageUp", "Home"].includes(key)) return "up";
  return ["ArrowDown", "PageDown"].includes(key) ? "down" : undefined;
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
