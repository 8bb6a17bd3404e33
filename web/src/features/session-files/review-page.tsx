// /sessions/:sessionId/review: the changes of a session over the whole width.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { words } from "../../words/words.ts";
import { ChangesTab } from "./changes-tab.tsx";

/** `onClose`: back to the conversation. Undefined where tabs lead back. */
export function ReviewPage({
  session,
  onClose,
}: {
  session: Session;
  onClose: (() => void) | undefined;
}): ReactNode {
  return (
    <>
      {onClose && (
        <div className="panel-top">
          <h2>{words("panel.changes")}</h2>
          <button type="button" className="btn sm push" onClick={onClose}>
            {words("review.close")} <kbd>]</kbd>
          </button>
        </div>
      )}
      <div className="panel-body">
        <ChangesTab session={session} />
      </div>
    </>
  );
}
