// Whether the page is too narrow for two columns; then parts that stand side by side become tabs.
import { useSyncExternalStore } from "react";

const narrow = globalThis.matchMedia("(max-width: 1180px)");

function subscribe(onChange: () => void): () => void {
  narrow.addEventListener("change", onChange);
  return () => narrow.removeEventListener("change", onChange);
}

export function useIsNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => narrow.matches);
}
