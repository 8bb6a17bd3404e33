// An ended session whose files its host still has, with a button that makes a new session with them.
import { GitBranch } from "lucide-react";
import type { ReactNode } from "react";
import type { Result } from "../../calls/call.ts";
import type { useChange } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Ago } from "../../design/ago.tsx";
import { Plain } from "../../design/plain.tsx";
import { size } from "../../words/figures.ts";
import { onDay } from "../../words/times.ts";
import { words } from "../../words/words.ts";

type Kept = Result<"list_parked_sessions">["parkedSessions"][number];

export function KeptLine({
  kept: { sessionId, title, branch, parkedAt, sizeBytes, expiresAt },
  restore,
  onRestored,
}: {
  kept: Kept;
  /** The list's, because this line is gone as soon as its session is restored, often before the answer is there. */
  restore: ReturnType<typeof useChange<"restore_session">>;
  /** Opens the new session. */
  onRestored: (sessionId: string) => void;
}): ReactNode {
  const mayEdit = useMay("sessions:edit");
  const isOfThis = restore.variables?.sessionId === sessionId;
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
        {isOfThis && restore.error && (
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
          {words(isOfThis && restore.isPending ? "kept.restoring" : "kept.restore")}
        </button>
      )}
    </div>
  );
}
