// Chooses a repository that is cloned for the session, with the credentials of the host.
import { useId, useState, type ReactNode, type SubmitEvent } from "react";
import { useRead } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";

export function CloneDialog({
  instanceId,
  onChoose,
  onClose,
}: {
  instanceId: string;
  onChoose: (clone: string) => void;
  onClose: () => void;
}): ReactNode {
  const [text, setText] = useState("");
  const listId = useId();
  const { data, error } = useRead("list_github_repos", { instanceId });
  const reason = data?.reason ?? undefined;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    onChoose(text.trim());
  };
  return (
    <form onSubmit={submit}>
      <Dialog
        title={words("start.clone.title")}
        onClose={onClose}
        footer={
          <>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words("cancel")}
            </button>
            <button type="submit" className="btn primary" disabled={text.trim() === ""}>
              {words("start.clone.use")}
            </button>
          </>
        }
      >
        <Field
          label={words("start.clone.name")}
          hint={
            error?.message ??
            words(reason === undefined ? "start.clone.hint" : `start.clone.${reason}`)
          }
          value={text}
          list={listId}
          required
          autoComplete="off"
          onChange={({ target }) => setText(target.value)}
        />
        <datalist id={listId}>
          {data?.repositories.map(({ name }) => (
            <option key={name}>{name}</option>
          ))}
        </datalist>
      </Dialog>
    </form>
  );
}
