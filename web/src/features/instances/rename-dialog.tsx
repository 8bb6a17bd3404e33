// Renames a host.
import type { Instance } from "@hawser/client";
import type { ReactNode } from "react";
import { Refused } from "../../calls/refused.ts";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";

export function RenameDialog({
  host,
  onClose,
}: {
  host: Instance;
  onClose: () => void;
}): ReactNode {
  const rename = useChange("update_instance", ["get_instance", "search_instances"]);
  const wrong = rename.error instanceof Refused ? rename.error.wrong("name") : undefined;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const name = (new FormData(event.currentTarget).get("name") as string).trim();
        rename.mutate({ instanceId: host.instanceId, name }, { onSuccess: onClose });
      }}
    >
      <Dialog
        title={words("host.rename")}
        onClose={onClose}
        footer={
          <>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words("cancel")}
            </button>
            <button type="submit" className="btn primary" disabled={rename.isPending}>
              {words("rename")}
            </button>
          </>
        }
      >
        <Field
          label={words("pair.name")}
          wrong={wrong}
          name="name"
          defaultValue={host.name}
          required
          maxLength={100}
          autoComplete="off"
        />
        {rename.error && wrong === undefined && <Failure error={rename.error} />}
      </Dialog>
    </form>
  );
}
