// Dragging a waiting prompt by its grip. Nothing moves until the host has moved it; a line shows where it would go.
import { useState, type PointerEvent, type RefObject } from "react";

interface Drag {
  messageId: string;
  /** Before which prompt it would go; null: to the end. */
  before: string | null;
}

export interface UsedDrag {
  begin: (event: PointerEvent<HTMLButtonElement>, messageId: string) => void;
  markOf: (messageId: string, isLast: boolean) => "before" | "after" | undefined;
}

export function useDrag(
  list: RefObject<HTMLElement | null>,
  onDrop: (messageId: string, beforeMessageId: string | null) => void,
): UsedDrag {
  const [drag, setDrag] = useState<Drag>();
  /** The row below the pointer's height. */
  const beforeAt = (y: number): string | null => {
    const rows = [...(list.current?.querySelectorAll<HTMLElement>("li[data-message]") ?? [])];
    const below = rows.find((row) => {
      const { top, height } = row.getBoundingClientRect();
      return y < top + height / 2;
    });
    return below?.dataset["message"] ?? null;
  };
  return {
    begin(event, messageId) {
      if (event.button !== 0) return;
      event.preventDefault();
      const grip: HTMLElement = event.currentTarget;
      const over = new AbortController();
      const { signal } = over;
      const end = () => {
        over.abort();
        setDrag(undefined);
      };
      grip.setPointerCapture(event.pointerId);
      const options = { signal };
      grip.addEventListener(
        "pointermove",
        ({ clientY }) => setDrag({ messageId, before: beforeAt(clientY) }),
        options,
      );
      grip.addEventListener(
        "pointerup",
        ({ clientY }) => {
          const before = beforeAt(clientY);
          end();
          if (before !== messageId) onDrop(messageId, before);
        },
        options,
      );
      grip.addEventListener("pointercancel", end, options);
    },
    markOf(messageId, isLast) {
      if (!drag) return undefined;
      if (drag.before === messageId) return "before";
      return drag.before === null && isLast ? "after" : undefined;
    },
  };
}
