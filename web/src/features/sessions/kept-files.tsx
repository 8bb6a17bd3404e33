// The files of an ended session, as long as the host has them.
import type { Session } from "@hawser/client";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useChange, useRead } from "../../calls/use-call.ts";
import { words } from "../../words/words.ts";
import { KeptLine } from "./kept-line.tsx";

export function KeptFiles({ session: { sessionId, instanceId } }: { session: Session }): ReactNode {
  const navigate = useNavigate();
  const { data } = useRead("list_parked_sessions", { instanceId });
  const restore = useChange("restore_session", [
    "list_parked_sessions",
    "search_sessions",
    "get_instance",
  ]);
  const kept = data?.parkedSessions.find((each) => each.sessionId === sessionId);
  if (!kept) return null;
  const open = (made: string) =>
    void navigate({ to: "/sessions/$sessionId", params: { sessionId: made } });
  return (
    <>
      <h2 className="kv-h">{words("kept")}</h2>
      <div className="kept-one">
        <div className="group">
          <KeptLine kept={kept} restore={restore} onRestored={open} />
        </div>
      </div>
    </>
  );
}
