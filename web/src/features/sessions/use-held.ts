// Whether a hand is on an element: the pointer of a mouse, or the focus of a keyboard. What a click has focused does not
// count, because the focus stays there for hours.
import { useState, type FocusEvent, type PointerEvent } from "react";

export interface Hold {
  onPointerEnter: (event: PointerEvent) => void;
  onPointerLeave: () => void;
  onFocus: (event: FocusEvent) => void;
  onBlur: (event: FocusEvent) => void;
}

export function useHeld(): [isHeld: boolean, hold: Hold] {
  const [hasPointer, setHasPointer] = useState(false);
  const [hasFocus, setHasFocus] = useState(false);
  return [
    hasPointer || hasFocus,
    {
      // A finger leaves no pointer behind that could leave again.
      onPointerEnter: ({ pointerType }) => setHasPointer(pointerType === "mouse"),
      onPointerLeave: () => setHasPointer(false),
      onFocus: ({ target }) => setHasFocus(target.matches(":focus-visible")),
      onBlur: ({ currentTarget, relatedTarget }) => {
        if (!currentTarget.contains(relatedTarget)) setHasFocus(false);
      },
    },
  ];
}
