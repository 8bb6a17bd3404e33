// The keyboard of this page, and whether the person has switched single keys off on this device.
import { createKeyboard, type Press } from "./keyboard.ts";

const storedAs = "hawser.single-keys";
const listeners = new Set<() => void>();

export const singleKeys = {
  get: (): boolean => localStorage.getItem(storedAs) !== "off",
  set: (isOn: boolean): void => {
    if (isOn) localStorage.removeItem(storedAs);
    else localStorage.setItem(storedAs, "off");
    for (const listener of listeners) listener();
  },
  subscribe: (onChange: () => void): (() => void) => {
    listeners.add(onChange);
    return () => listeners.delete(onChange);
  },
};

export const keyboard = createKeyboard(singleKeys.get);

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);

/** Whether this element takes typed text, or keys of its own. */
export function isField(element: Element | null): boolean {
  if (!element) return false;
  return (
    element.matches("input, textarea, select, [contenteditable], [role='textbox']") ||
    element.closest("dialog, [role='menu']") !== null
  );
}

/** Until the returned function is called. */
export function listenToKeys(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented) return;
    if (keyboard.press(pressOf(event), performance.now())) event.preventDefault();
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}

function pressOf(event: KeyboardEvent): Press {
  const { code, ctrlKey, metaKey, altKey, isComposing, repeat } = event;
  // On a Mac, Option and a digit writes another character.
  const digit = altKey ? /^Digit([1-9])$/.exec(code)?.[1] : undefined;
  const { activeElement } = document;
  return {
    key: digit ?? event.key,
    hasMod: isMac ? metaKey : ctrlKey,
    hasAlt: altKey,
    hasOther: isMac ? ctrlKey : metaKey,
    isComposing,
    isRepeat: repeat,
    isInField: isField(activeElement),
    isInDialog: document.querySelector("dialog[open]") !== null,
  };
}

/** As keys are labelled: "⌘K" or "Ctrl K", "G I", "1 … 9", "?". */
export function keyNames(key: string): string[] {
  return key.split(/[+ ]/).map((part) => {
    if (part === "mod") return isMac ? "⌘" : "Ctrl";
    if (part === "alt") return isMac ? "⌥" : "Alt";
    if (/^\d-\d$/.test(part)) return part.replace("-", " … ");
    return part.length === 1 ? part.toUpperCase() : part[0]!.toUpperCase() + part.slice(1);
  });
}
