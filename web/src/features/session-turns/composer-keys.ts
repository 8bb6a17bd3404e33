// What a key does in the composer.

export interface ComposerKey {
  key: string;
  keyCode: number;
  isComposing: boolean;
  hasShift: boolean;
  /** Control, or Command on a Mac. */
  hasCommand: boolean;
  isTouch: boolean;
}

/** Whether the key sends. Never while an input method composes: there Enter chooses a word. */
export function sends({
  key,
  keyCode,
  isComposing,
  hasShift,
  hasCommand,
  isTouch,
}: ComposerKey): boolean {
  // Safari ends the composition before it reports the key, which then has the code 229.
  if (key !== "Enter" || isComposing || keyCode === 229) return false;
  if (hasCommand) return true;
  return !hasShift && !isTouch;
}

const stopWithinMs = 600;

/** Esc once leaves the field, twice within a moment stops the turn. Returns the effect of a press. */
export function createEscape(): (now: number) => "leave" | "stop" {
  let pressedAt = -Infinity;
  return (now) => {
    const isSecond = now - pressedAt <= stopWithinMs;
    pressedAt = isSecond ? -Infinity : now;
    return isSecond ? "stop" : "leave";
  };
}
