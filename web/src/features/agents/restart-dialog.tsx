// Restarts an agent on a host, and says before what that interrupts.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import type { Agent } from "./said-of-agent.ts";

const shownBy = ["get_instance", "search_instances", "search_sessions"] as const;

export function RestartDialog({
  host,
  kind,
  onClose,
}: {
  host: InstanceDetail;
  kind: Agent["kind"];
  onClose: () => void;
}): ReactNode {
  const { instanceId, name } = host;
  const opencode = useChange("restart_opencode", shownBy);
  const other = useChange("restart_agent_kind", shownBy);
  const { isPending, error } = kind === "opencode" ? opencode : other;
  const restart = () => {
    if (kind === "opencode") opencode.mutate({ instanceId }, { onSuccess: onClose });
    else other.mutate({ instanceId, kind }, { onSuccess: onClose });
  };
  const n = host.activeSessions.filter(({ agentKind }) => agentKind === kind).length;
  return (
    <Dialog
      title={words("agent.restart.title", { kind: kindName(kind), name })}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words("cancel")}
          </button>
          <button type="button" className="btn risk" disabled={isPending} onClick={restart}>
            {words("agent.restart")}
          </button>
        </>
      }
    >
      <p>{words("agent.restart.what", { n })}</p>
      <p className="mid">{words("agent.restart.kept")}</p>
      {error && <Failure error={error} />}
    </Dialog>
  );
}
