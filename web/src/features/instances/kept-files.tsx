// The files of ended sessions that the host still keeps. Each can be brought back, in a new session.
import type { InstanceDetail } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { GitBranch } from "lucide-react";
import type { ReactNode } from "react";
import type { Result } from "../../calls/call.ts";
import { read, useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Plain } from "../../design/plain.tsx";
import { size } from "../../words/figures.ts";
import { onDay } from "../../words/times.ts";
import { words } from "../../words/words.ts";

type Kept = Result<"list_parked_sessions">["parkedSessions"][number];

export function KeptFiles({
  host: { instanceId, status },
  onRestored,
}: {
  host: InstanceDetail;
  /** Opens the new session. */
  onRestored: (sessionId: string) => void;
}): ReactNode {
  const mayRead = useMay("sessions:view");
  const isOnline = status === "online";
  const { data, error, refetch } = useQuery({
    ...read("list_parked_sessions", { instanceId }),
    enabled: mayRead && isOnline,
  });
  if (!mayRead) return null;
  if (isOnline && !error && (data?.parkedSessions.length ?? 0) === 0) return null;
  return (
    <section className="sec">
      <header>
        <h2>{words("kept")}</h2>
      </header>
      {isOnline && error && (
        <Failure error={error} what={words("kept.failed")} onTryAgain={() => void refetch()} />
      )}
      {!isOnline && (
        <div className="group">
          <p className="line dim">{words("kept.offline")}</p>
        </div>
      )}
      {isOnline && data && data.parkedSessions.length > 0 && (
        <>
          <p className="dim small">{words("kept.what")}</p>
          <div className="group">
            {data.parkedSessions.map((kept) => (
              <KeptLine key={kept.sessionId} kept={kept} onRestored={onRestored} />
            ))}
          </div>
          {data.truncated && <p className="dim small">{words("kept.truncated")}</p>}
        </>
      )}
    </section>
  );
}

function KeptLine({
  kept: { sessionId, title, branch, parkedAt, sizeBytes, expiresAt },
  onRestored,
}: {
  kept: Kept;
  onRestored: (sessionId: string) => void;
}): ReactNode {
  const mayEdit = useMay("sessions:edit");
  const restore = useChange("restore_session", [
    "list_parked_sessions",
    "search_sessions",
    "get_instance",
  ]);
  return (
    <div className="line">
      <div className="grow">
        <span className="medium breaks">
          {title === null ? words("host.session.untitled") : <Plain text={title} />}
        </span>
        <span className="sub">
          {words("kept.ended")} <Ago at={parkedAt} />, {size(sizeBytes)},{" "}
          {words("kept.until", { day: onDay(expiresAt) })}
        </span>
        {branch !== null && (
          <span className="sub mono cut">
            <GitBranch className="icon s" aria-hidden /> <Plain text={branch} />
          </span>
        )}
        {restore.error && (
          <span className="sub red" role="alert">
            {restore.error.message}
          </span>
        )}
      </div>
      {mayEdit && (
        <button
          type="button"
          className="btn sm"
          disabled={restore.isPending}
          onClick={() =>
            restore.mutate({ sessionId }, { onSuccess: (session) => onRestored(session.sessionId) })
          }
        >
          {words(restore.isPending ? "kept.restoring" : "kept.restore")}
        </button>
      )}
    </div>
  );
}
