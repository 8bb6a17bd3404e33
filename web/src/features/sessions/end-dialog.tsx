// Ending a session: what goes, and what the host keeps, before the button.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";

export function EndDialog({
  session,
  onClose,
}: {
  session: Session;
  onClose: () => void;
}): ReactNode {
  const end = useChange("end_session", ["get_session_summary", "search_sessions"]);
  const { sessionId, worktreeBranch, reachable } = session;
  return (
    <Dialog
      title={words("session.end.title")}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words("cancel")}
          </button>
          <button
            type="button"
            className="btn risk"
            disabled={end.isPending}
            onClick={() => end.mutate({ sessionId }, { onSuccess: onClose })}
          >
            {words("session.end")}
          </button>
        </>
      }
    >
      <ul className="stack">
        {worktreeBranch === null ? (
          <li>{words("session.end.in_place")}</li>
        ) : (
          <>
            <li>
              {words("session.end.worktree")}{" "}
              <code>
                <Plain text={worktreeBranch} />
              </code>
            </li>
            <li className="mid">{words("session.end.kept")}</li>
          </>
        )}
        {!reachable && <li className="mid">{words("session.end.offline")}</li>}
      </ul>
      {end.isError && <Failure error={end.error} />}
    </Dialog>
  );
}
