// Ending a session: what goes, what of it is saved nowhere else, and what the host keeps, before the button.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { useGit, type GitState } from "./use-git.ts";

export function EndDialog({
  session,
  onPush,
  onClose,
}: {
  session: Session;
  onPush: () => void;
  onClose: () => void;
}): ReactNode {
  const git = useGit(session, true);
  const unsaved = unsavedIn(git);
  const end = useChange("end_session", ["get_session_summary", "search_sessions"]);
  const { sessionId, worktreeBranch, reachable } = session;
  return (
    <Dialog
      title={words("session.end.title")}
      onClose={onClose}
      footer={
        <>
          {reachable && (git?.unpushedCommits ?? 0) > 0 && (
            <button type="button" className="btn" onClick={onPush}>
              {words("session.end.push_first")}
            </button>
          )}
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
            {unsaved !== undefined && <li className="unsaved">{unsaved}</li>}
            <li className="mid">{words("session.end.kept")}</li>
          </>
        )}
        {!reachable && <li className="mid">{words("session.end.offline")}</li>}
      </ul>
      {end.isError && <Failure error={end.error} />}
    </Dialog>
  );
}

/** What is in no commit, and what no remote has; undefined if all is saved, or nothing is known. */
function unsavedIn(git: GitState | undefined): string | undefined {
  const files = git?.uncommittedFiles ?? 0;
  const commits = git?.unpushedCommits ?? 0;
  const parts = [
    ...(files > 0 ? [words("session.end.files", { n: files })] : []),
    ...(commits > 0 ? [words("session.end.commits", { n: commits })] : []),
  ];
  if (!git || parts.length === 0) return undefined;
  const as =
    git.live || git.takenAt === null ? "" : words("changes.as_of", { time: clock(git.takenAt) });
  return [words("session.end.unsaved", { what: parts.join(", ") }), as].filter(Boolean).join(" ");
}
