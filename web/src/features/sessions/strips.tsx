// Strips below the header: what is old, and since when. And the thin line of what was caught up.
import type { Session } from "@hawser/client";
import { TriangleAlert } from "lucide-react";
import { Suspense, useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { part } from "../../design/part.tsx";
import { createConnectionStatus } from "../../streams/connection-status.ts";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import { isOver } from "./words.ts";

const LostHost = part(async () => (await import("./lost-host.tsx")).LostHost);

export function Strips({
  session,
  snapshot,
  wasRunning,
}: {
  session: Session;
  snapshot: LogSnapshot;
  wasRunning: boolean;
}): ReactNode {
  const [status] = useState(createConnectionStatus);
  const { connection, caughtUp } = snapshot;
  useEffect(() => status.set(connection), [status, connection]);
  const shows = useSyncExternalStore(status.subscribe, status.get);
  return (
    <>
      {shows.shows === "reconnecting" && shows.strip && (
        <Strip>
          {shows.since === undefined
            ? words("session.connecting")
            : words("session.offline_since", { time: clock(shows.since) })}
        </Strip>
      )}
      {!session.reachable && !isOver(session) && (
        <Strip>
          <span>
            {words(wasRunning ? "session.host_lost.running" : "session.host_lost")}
            <Suspense>
              <LostHost instanceId={session.instanceId} />
            </Suspense>
          </span>
        </Strip>
      )}
      {session.status === "error" && (
        <Strip>
          {session.statusMessage ?? session.statusReason ?? words("session.mark.error")}
        </Strip>
      )}
      {caughtUp && (
        <p className="caught" role="status">
          {words("session.caught_up", {
            n: caughtUp.count,
            from: clock(caughtUp.from),
            to: clock(caughtUp.to),
          })}
        </p>
      )}
    </>
  );
}

function Strip({ children }: { children: ReactNode }): ReactNode {
  return (
    <p className="strip" role="status">
      <TriangleAlert className="icon" aria-hidden />
      {children}
    </p>
  );
}
