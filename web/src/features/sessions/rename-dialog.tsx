// Gives a session another title.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";

export function RenameDialog({
  session: { sessionId, title },
  onClose,
}: {
  session: Session;
  onClose: () => void;
}): ReactNode {
  const rename = useChange("rename_session", ["get_session_summary", "search_sessions"]);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const wanted = (new FormData(event.currentTarget).get("title") as string).trim();
        if (wanted !== "") rename.mutate({ sessionId, title: wanted }, { onSuccess: onClose });
      }}
    >
      <Dialog
        title={words("session.rename")}
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
          label={words("session.title")}
          name="title"
          defaultValue={title ?? ""}
          required
          maxLength={200}
          autoComplete="off"
        />
        {rename.isError && <Failure error={rename.error} />}
      </Dialog>
    </form>
  );
}
