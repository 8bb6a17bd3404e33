// Removes the person's account from a host, and says before what goes with it.
import type { InstanceDetail } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import type { Kind } from "./account-line.tsx";

export function UnlinkDialog({
  host: { instanceId, name },
  kind,
  onClose,
}: {
  host: InstanceDetail;
  kind: Kind;
  onClose: () => void;
}): ReactNode {
  const unlink = useChange("unlink_agent_identity", [
    "list_agent_identities",
    "get_instance",
    "search_sessions",
  ]);
  return (
    <Dialog
      title={words("unlink.title", { kind: kindName(kind), name })}
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
            disabled={unlink.isPending}
            onClick={() => unlink.mutate({ instanceId, kind }, { onSuccess: onClose })}
          >
            {words("account.unlink")}
          </button>
        </>
      }
    >
      <p>{words("unlink.what")}</p>
      <p className="mid">{words("unlink.sessions")}</p>
      {unlink.error && <Failure error={unlink.error} />}
    </Dialog>
  );
}
