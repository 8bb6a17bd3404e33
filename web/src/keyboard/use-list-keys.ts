// J and K lead through the rows of a list, and Enter opens the one that has the focus.
import type { RefObject } from "react";
import { useAct } from "./use-act.ts";

/** `rows`: a selector of the rows, which are links or buttons. */
export function useListKeys(list: RefObject<HTMLElement | null>, rows: string): void {
  const go = (step: number) => {
    const all = [...(list.current?.querySelectorAll<HTMLElement>(rows) ?? [])];
    const at = all.findIndex((row) => row.contains(document.activeElement));
    const next = at === -1 ? all.at(step > 0 ? 0 : -1) : all[at + step];
    next?.focus();
  };
  useAct("next", () => go(1));
  useAct("former", () => go(-1));
  // A focused link is opened by the browser.
  useAct("open", () => false);
}
