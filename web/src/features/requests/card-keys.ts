// Which key answers a request, and when. Letters count only while nobody types, and a card that has just appeared is
// deaf: a key that was meant for something else must not answer it.

export const armingMs = 500;

export interface PressedKey {
  key: string;
  hasModifier: boolean;
  /** Being composed by an input method. */
  isComposing: boolean;
  /** A field has the focus. */
  isInField: boolean;
  isRepeat: boolean;
}

export type CardKey =
  { does: "answer"; answer: "once" | "always" | "reject" } | { does: "choose"; option: number };

/** What a key does to a card that has been on the screen for this long; undefined for nothing. */
export function cardKey(
  { key, hasModifier, isComposing, isInField, isRepeat }: PressedKey,
  card: { shownMs: number; type: "permission" | "question"; hasAlways: boolean },
): CardKey | undefined {
  if (hasModifier || isComposing || isInField || isRepeat || card.shownMs < armingMs)
    return undefined;
  if (card.type === "question") {
    return /^[1-9]$/.test(key) ? { does: "choose", option: Number(key) - 1 } : undefined;
  }
  const letter = key.toLowerCase();
  if (letter === "y") return { does: "answer", answer: "once" };
  if (letter === "n") return { does: "answer", answer: "reject" };
  if (letter === "a" && card.hasAlways) return { does: "answer", answer: "always" };
  return undefined;
}

/** Whether this element takes typed text. */
export function isField(element: Element | null): boolean {
  if (!element) return false;
  return (
    element.matches("input, textarea, select, [contenteditable], [role='textbox']") ||
    element.closest("dialog, [role='menu']") !== null
  );
}
