// How a person picks lines: a press on a number, a drag over numbers, a long press on a phone, or the keys.
import {
  useEffect,
  useEffectEvent,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type PointerEvent,
} from "react";
import type { Side } from "./patch.ts";
import { nextPick, type Pick } from "./pick.ts";
import type { Layout, Row } from "./rows.ts";

interface Options {
  rows: readonly Row[];
  layout: Layout;
  /** Scrolls to the picked line and gives it the focus. */
  onFocus: (pick: Pick) => void;
  /** A comment on the picked lines. */
  onComment: (pick: Pick) => void;
}

const longPressMs = 500;
/** A finger that moves further scrolls. */
const stillWithin = 10;

export function usePick({ rows, layout, onFocus, onComment }: Options) {
  const [pick, setPick] = useState<Pick>();
  const [isDragging, setIsDragging] = useState(false);
  const press = useRef<{ timer: ReturnType<typeof setTimeout>; x: number; y: number }>(undefined);
  const endPress = () => {
    clearTimeout(press.current?.timer);
    press.current = undefined;
  };

  /** The line of a number that an event is about. */
  const lineOf = (target: EventTarget): Pick | undefined => {
    const button = (target as Element).closest<HTMLElement>("button.n");
    const row = button?.closest<HTMLElement>("[data-index]");
    if (!button || !row) return undefined;
    const { path } = rows[Number(row.dataset["index"])]!;
    const line = Number(button.dataset["line"]);
    return { path, side: button.dataset["side"] as Side, from: line, to: line };
  };
  /** The line under the pointer, on the side and in the file of the pick. */
  const lineUnder = (target: EventTarget, { path, side }: Pick): number | undefined => {
    const row = (target as Element).closest<HTMLElement>("[data-index]");
    const under = row && rows[Number(row.dataset["index"])];
    return under?.is === "line" && under.path === path ? under[side]?.[side] : undefined;
  };

  const onRelease = useEffectEvent(() => {
    setIsDragging(false);
    if (pick) onComment(pick);
  });
  useEffect(() => {
    if (!isDragging) return undefined;
    const ended = new AbortController();
    const { signal } = ended;
    window.addEventListener("pointerup", () => onRelease(), { signal });
    window.addEventListener("pointercancel", () => setIsDragging(false), { signal });
    return () => ended.abort();
  }, [isDragging]);

  const handlers = {
    onPointerDown(event: PointerEvent) {
      const line = lineOf(event.target);
      if (!line || event.button !== 0) return;
      if (event.pointerType === "touch") {
        const timer = setTimeout(() => {
          setPick(line);
          onComment(line);
        }, longPressMs);
        press.current = { timer, x: event.clientX, y: event.clientY };
        return;
      }
      // Otherwise the drag would select text.
      event.preventDefault();
      setPick(
        event.shiftKey && pick?.path === line.path && pick.side === line.side
          ? { ...pick, to: line.to }
          : line,
      );
      setIsDragging(true);
    },
    onPointerMove({ clientX, clientY }: PointerEvent) {
      const { x, y } = press.current ?? {};
      if (x === undefined || y === undefined) return;
      if (Math.hypot(clientX - x, clientY - y) > stillWithin) endPress();
    },
    onPointerOver({ target }: PointerEvent) {
      if (!isDragging || !pick) return;
      const to = lineUnder(target, pick);
      if (to !== undefined) setPick({ ...pick, to });
    },
    onPointerUp: endPress,
    onPointerCancel: endPress,
    onContextMenu(event: MouseEvent) {
      // A long press writes a comment instead.
      if (press.current) event.preventDefault();
    },
    onClick(event: MouseEvent) {
      // A press of a key, or of a screen reader; a pointer has done it above.
      if (event.detail !== 0) return;
      const line = lineOf(event.target);
      if (line) onComment(pick?.path === line.path && pick.to === line.to ? pick : line);
    },
    onFocus({ target }: FocusEvent) {
      const line = lineOf(target);
      const isSame =
        line && line.path === pick?.path && line.side === pick.side && line.to === pick.to;
      if (line && !isSame) setPick(line);
    },
    onKeyDown(event: KeyboardEvent) {
      const { key, shiftKey, ctrlKey, metaKey, altKey } = event;
      if (ctrlKey || metaKey || altKey || !pick || !lineOf(event.target)) return;
      if (key.toLowerCase() === "c") {
        event.preventDefault();
        onComment(pick);
      }
      if (key !== "ArrowDown" && key !== "ArrowUp") return;
      event.preventDefault();
      const step = key === "ArrowDown" ? 1 : -1;
      const next = nextPick(rows, pick, step, { layout, isRange: shiftKey });
      if (!next) return;
      setPick(next);
      onFocus(next);
    },
  };
  return { pick, setPick, handlers };
}
