// J and K lead through the rows of a list, and Enter opens the one that has the focus.
import type { RefObject } from "react";
import { useAct } from "./use-act.ts";

/** Marks the element of a list, so that the keys stay in the list that has the focus. */
export const listMark = { "data-list": "" };

/**
 * `rows`: a selector of the rows, which are links or buttons. The list of a page has the keys wherever the focus is,
 * another one only while it has the focus.
 */
export function useListKeys(
  list: RefObject<HTMLElement | null>,
  rows: string,
  { isOfPage }: { isOfPage: boolean },
): void {
  const go = (step: number) => {
    const focused = document.activeElement;
    const other = focused?.closest("[data-list]");
    if (other ? other !== list.current : !isOfPage) return false;
    const all = [...(list.current?.querySelectorAll<HTMLElement>(rows) ?? [])];
    const at = all.findIndex((row) => row.contains(focused));
    const next = at === -1 ? all.at(step > 0 ? 0 : -1) : all[at + step];
    return next?.focus();
  };
  useAct("next", () => go(1));
  useAct("former", () => go(-1));
  // The browser opens a link that has the focus.
  useAct("open", () => false);
}
