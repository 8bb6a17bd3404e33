// Taking a session back to before a prompt: what goes back, and where the present state is kept.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import type { ChosenPrompt } from "../session-log/index.ts";

export function RevertDialog({
  session: { sessionId, reachable },
  prompt: { messageId, at },
  isRunning,
  onClose,
}: {
  session: Session;
  prompt: ChosenPrompt;
  isRunning: boolean;
  onClose: () => void;
}): ReactNode {
  const revert = useChange("revert_session", ["get_session_diff", "get_session_git"]);
  const rest = isRunning ? "revert.running" : reachable ? undefined : "revert.offline";
  return (
    <Dialog
      title={words("revert.title")}
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
            disabled={rest !== undefined || revert.isPending}
            onClick={() => revert.mutate({ sessionId, messageId }, { onSuccess: onClose })}
          >
            {words("revert")}
          </button>
        </>
      }
    >
      <p>{words("revert.what", { time: clock(at) })}</p>
      <p className="mid">{words("revert.kept")}</p>
      {rest && <p className="mid">{words(rest)}</p>}
      {revert.isError && <Failure error={revert.error} />}
    </Dialog>
  );
}
