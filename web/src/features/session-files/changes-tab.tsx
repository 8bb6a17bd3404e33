// The files that a session has changed, with lines added and removed.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { useRead } from "../../calls/use-call.ts";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";

export function ChangesTab({ session }: { session: Session }): ReactNode {
  const { data, error, refetch } = useRead("get_session_diff", { sessionId: session.sessionId });
  if (error !== null && isRefused(error, "not_a_repository"))
    return <p className="panel-note">{error.message}</p>;
  if (error)
    return (
      <Failure error={error} what={words("changes.failed")} onTryAgain={() => void refetch()} />
    );
  if (!data) return <Skeleton lines={3} />;
  const { files, truncated, live, takenAt } = data;
  return (
    <>
      {!live && takenAt !== null && (
        <p className="panel-note">{words("changes.as_of", { time: clock(takenAt) })}</p>
      )}
      {files.length === 0 && <p className="panel-note">{words("changes.none")}</p>}
      <ul className="files-list">
        {files.map(({ path, added, removed }) => {
          const nameAt = path.lastIndexOf("/") + 1;
          return (
            <li key={path}>
              <span className="cut">
                <span className="dir">
                  <Plain text={path.slice(0, nameAt)} />
                </span>
                <Plain text={path.slice(nameAt)} />
              </span>
              <span className="pm plus">{added > 0 && `+${added}`}</span>
              <span className="pm minus">{removed > 0 && `−${removed}`}</span>
            </li>
          );
        })}
      </ul>
      {truncated && <p className="panel-note">{words("changes.truncated")}</p>}
    </>
  );
}
