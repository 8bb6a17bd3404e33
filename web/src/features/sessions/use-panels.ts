// The panel that the address names, the keys that change it, and the way into the review and back.
import type { Session } from "@hawser/client";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useIsNarrow } from "../../design/narrow.ts";
import { useAct } from "../../keyboard/index.ts";
import { panelsOf, shownOf, type Shown, type ViewName } from "./panels.ts";

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
  useAct("panel", (digit) => {
    const view = shown.tabs[Number(digit) - 1];
    if (!view) return false;
    return show(view);
  });
  return { ...shown, isNarrow, show, toggleReview };
}
