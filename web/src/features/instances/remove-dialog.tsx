// Removes a host, and says before what that removes.
import type { Instance } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { words } from "../../words/words.ts";

export function RemoveDialog({
  host,
  onClose,
  onGone,
}: {
  host: Instance;
  onClose: () => void;
  onGone: () => void;
}): ReactNode {
  const remove = useChange("delete_instance", ["search_instances"]);
  return (
    <Dialog
      title={words("host.remove.title", { name: host.name })}
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
            disabled={remove.isPending}
            onClick={() => remove.mutate({ instanceId: host.instanceId }, { onSuccess: onGone })}
          >
            {words("host.remove")}
          </button>
        </>
      }
    >
      <p>{words("host.remove.what", { sessions: host.activeSessionCount })}</p>
      <p className="mid">{words("host.remove.files")}</p>
      {remove.error && <Failure error={remove.error} />}
    </Dialog>
  );
}
