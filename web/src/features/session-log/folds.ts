// Which rows of a session are open, and where a person was reading. Kept while the page is open, for each session.
import { createContext, useContext, useSyncExternalStore } from "react";

export interface Place {
  /** The first row that was visible, and how far it was scrolled out. */
  key: string;
  offset: number;
}

export interface Folds {
  isOpen: (key: string, byDefault: boolean) => boolean;
  toggle: (key: string, byDefault: boolean) => void;
  /** Opens some, and leaves all others as they are. Returns those that were closed. */
  open: (keys: readonly string[]) => string[];
  close: (keys: readonly string[]) => void;
  /** Opens everything that is folded; if it was opened so, closes it again. */
  toggleAll: () => void;
  subscribe: (onChange: () => void) => () => void;
  /** Undefined: at the end. */
  place: Place | undefined;
}

/** The key of what a call has written. */
export const callKey = (toolCallId: string): string => `open:${toolCallId}`;

const sessions = new Map<string, Folds>();

export function foldsOf(sessionId: string): Folds {
  const known = sessions.get(sessionId);
  if (known) return known;
  const changed = new Map<string, boolean>();
  const listeners = new Set<() => void>();
  let areAllOpen = false;
  const tell = () => {
    for (const listener of listeners) listener();
  };
  const set = (keys: readonly string[], isOpen: boolean) => {
    for (const key of keys) changed.set(key, isOpen);
    if (keys.length > 0) tell();
  };
  const folds: Folds = {
    // What a call has written stays closed: opening all of it would bury the text.
    isOpen: (key, byDefault) =>
      changed.get(key) ?? (byDefault || (areAllOpen && !key.startsWith(callKey("")))),
    toggle: (key, byDefault) => set([key], !folds.isOpen(key, byDefault)),
    open(keys) {
      const closed = keys.filter((key) => !folds.isOpen(key, false));
      set(closed, true);
      return closed;
    },
    close: (keys) => set(keys, false),
    toggleAll() {
      areAllOpen = !areAllOpen;
      changed.clear();
      tell();
    },
    subscribe(onChange) {
      listeners.add(onChange);
      return () => listeners.delete(onChange);
    },
    place: undefined,
  };
  sessions.set(sessionId, folds);
  return folds;
}

export interface FoldContext {
  sessionId: string;
  folds: Folds;
  /** Opening something is reading it, so the transcript stops following its end. */
  onToggle: () => void;
}

export const FoldsOfSession = createContext<FoldContext | undefined>(undefined);

/** Whether a row is open, and how to change it. */
export function useFold(key: string, byDefault = false): [isOpen: boolean, toggle: () => void] {
  const { folds, onToggle } = useContext(FoldsOfSession)!;
  const isOpen = useSyncExternalStore(folds.subscribe, () => folds.isOpen(key, byDefault));
  return [
    isOpen,
    () => {
      onToggle();
      folds.toggle(key, byDefault);
    },
  ];
}
