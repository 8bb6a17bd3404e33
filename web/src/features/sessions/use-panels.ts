// The panel that the address names, the keys that change it, and the way into the review and back.
import type { Session } from "@hawser/client";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect, useEffectEvent } from "react";
import { useIsNarrow } from "../../design/narrow.ts";
import { useAct } from "../../keyboard/index.ts";
import { panelKey, panelsOf, shownOf, type Shown, type ViewName } from "./panels.ts";

export interface Panels extends Shown {
  isNarrow: boolean;
  show: (view: ViewName) => void;
  toggleReview: () => void;
}

export function usePanels(session: Session, isReview: boolean): Panels {
  const { sessionId } = session;
  const navigate = useNavigate();
  const { panel } = useSearch({ strict: false });
  const isNarrow = useIsNarrow();
  const panels = panelsOf(session);
  const shown = shownOf(panels, isReview ? "changes" : panel, isNarrow);
  const show = (view: ViewName) =>
    void navigate({
      to: "/sessions/$sessionId",
      params: { sessionId },
      search: (before) => ({ ...before, panel: view === "talk" ? undefined : view }),
      replace: !isReview,
    });
  const toggleReview = () =>
    void navigate({
      to: isReview ? "/sessions/$sessionId" : "/sessions/$sessionId/review",
      params: { sessionId },
      search: (before) => before,
    });
  useAct("review", toggleReview, panels.includes("changes"));
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    const view = panelKey(event, shown.tabs);
    if (!view || event.isComposing || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    show(view);
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event);
    globalThis.addEventListener("keydown", listen);
    return () => globalThis.removeEventListener("keydown", listen);
  }, []);
  return { ...shown, isNarrow, show, toggleReview };
}
