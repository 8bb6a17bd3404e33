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
  subscribe: (onChange: () => void) => () => void;
  /** Undefined: at the end. */
  place: Place | undefined;
}

const sessions = new Map<string, Folds>();

export function foldsOf(sessionId: string): Folds {
  const known = sessions.get(sessionId);
  if (known) return known;
  const changed = new Map<string, boolean>();
  const listeners = new Set<() => void>();
  const folds: Folds = {
    isOpen: (key, byDefault) => changed.get(key) ?? byDefault,
    toggle(key, byDefault) {
      changed.set(key, !folds.isOpen(key, byDefault));
      for (const listener of listeners) listener();
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
