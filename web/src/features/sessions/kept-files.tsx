// The files of an ended session that the host still has, and a new session with them.
import type { Session } from "@hawser/client";
import { useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useChange, useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { words } from "../../words/words.ts";

export function KeptFiles({ session: { sessionId, instanceId } }: { session: Session }): ReactNode {
  const navigate = useNavigate();
  const mayEdit = useMay("sessions:edit");
  const { data } = useRead("list_parked_sessions", { instanceId });
  const restore = useChange("restore_session", ["search_sessions", "list_parked_sessions"]);
  const parked = data?.parkedSessions.find((each) => each.sessionId === sessionId);
  if (!parked) return null;
  const until = new Date(parked.expiresAt).toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
  });
  return (
    <div className="note">
      <div className="grow">
        <p>{words("details.kept", { until })}</p>
        {restore.isError && <Failure error={restore.error} />}
      </div>
      {mayEdit && (
        <button
          type="button"
          className="btn sm"
          disabled={restore.isPending}
          onClick={() =>
            restore.mutate(
              { sessionId },
              {
                onSuccess: (made) =>
                  void navigate({
                    to: "/sessions/$sessionId",
                    params: { sessionId: made.sessionId },
                  }),
              },
            )
          }
        >
          {words("details.restore")}
        </button>
      )}
    </div>
  );
}
