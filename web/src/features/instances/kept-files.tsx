// The files of ended sessions that the host still keeps. Each can be brought back, in a new session.
import type { InstanceDetail } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, type ReactNode } from "react";
import { read, useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { words } from "../../words/words.ts";

/** Its part of the build is that of the sessions' pages. */
const KeptLine = lazy(async () => {
  const { loadKeptLine } = await import("../sessions/index.ts");
  return { default: (await loadKeptLine()).KeptLine };
});

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
  const restore = useChange("restore_session", [
    "list_parked_sessions",
    "search_sessions",
    "get_instance",
  ]);
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
            <Suspense>
              {data.parkedSessions.map((kept) => (
                <KeptLine
                  key={kept.sessionId}
                  kept={kept}
                  restore={restore}
                  onRestored={onRestored}
                />
              ))}
            </Suspense>
          </div>
          {data.truncated && <p className="dim small">{words("kept.truncated")}</p>}
        </>
      )}
    </section>
  );
}
