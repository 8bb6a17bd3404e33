// The changes of a session, once they are known: as of when, and whether there are any. How they are laid out is for
// the panel and for the review.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { useRead } from "../../calls/use-call.ts";
import { Failure } from "../../design/failure.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import { useChanges, type ChangedFile } from "./changes.ts";

interface ChangesViewProps {
  session: Session;
  snapshot: LogSnapshot;
  /** `note`: what must be said about the list. */
  children: (files: readonly ChangedFile[], note: ReactNode) => ReactNode;
}

export function ChangesView({ session, snapshot, children }: ChangesViewProps): ReactNode {
  const { data, error, refetch } = useChanges(session, snapshot.filesSeq);
  if (!data && error !== null) {
    return isRefused(error, "not_a_repository") || isRefused(error, "session_ended") ? (
      <p className="panel-note">{error.message}</p>
    ) : (
      <Failure error={error} what={words("changes.failed")} onTryAgain={() => void refetch()} />
    );
  }
  if (!data) return <Skeleton lines={3} />;
  const { files, truncated, live, takenAt } = data;
  const note = (
    <>
      {!live && takenAt !== null && (
        <p className="panel-note">{words("changes.as_of", { time: clock(takenAt) })}</p>
      )}
      {!live && takenAt === null && <p className="panel-note">{words("changes.never")}</p>}
      {live && files.length === 0 && <p className="panel-note">{words("changes.none")}</p>}
      {files.length > 0 && <Committed sessionId={session.sessionId} />}
      {truncated && <p className="panel-note">{words("changes.truncated")}</p>}
    </>
  );
  return children(files, note);
}

/** What of the changes is committed. Nothing is said while it is not known. */
function Committed({ sessionId }: { sessionId: string }): ReactNode {
  const { data } = useRead("get_session_git", { sessionId });
  if (!data || data.commits === null) return null;
  const { commits, unpushedCommits, uncommittedFiles } = data;
  if (commits === 0) return <p className="panel-note">{words("changes.uncommitted")}</p>;
  return (
    <p className="panel-note">
      {unpushedCommits !== null && words("push.commits", { commits, unpushed: unpushedCommits })}
      {(uncommittedFiles ?? 0) > 0 && `, ${words("session.end.files", { n: uncommittedFiles! })}`}
    </p>
  );
}
