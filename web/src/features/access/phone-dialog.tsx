// Lets a phone in: a link for the phone, and the four digits that it shows.
import type { ReactNode, SubmitEvent } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Copyable } from "../../design/copyable.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { words } from "../../words/words.ts";
import { isLoopback } from "./loopback.ts";

export function PhoneDialog({ onClose }: { onClose: () => void }): ReactNode {
  const make = useChange("create_device_sign_in");
  const confirm = useChange("confirm_device_sign_in", ["list_sign_ins"]);
  const result = confirm.data;
  const isOver = result?.state === "over" || (result?.state === "wrong" && result.triesLeft === 0);
  const stage =
    result?.state === "confirmed" ? "confirmed" : make.data && !isOver ? "digits" : "link";

  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (stage === "link") {
      confirm.reset();
      make.mutate({});
      return;
    }
    const form = event.currentTarget;
    const digits = new FormData(form).get("digits") as string;
    confirm.mutate({ digits }, { onSuccess: ({ state }) => state === "wrong" && form.reset() });
  };
  const problem = make.error ?? confirm.error;
  return (
    // A new form for each stage, so that its field gets the focus.
    <form key={stage} onSubmit={submit}>
      <Dialog
        title={words("phone.open")}
        onClose={onClose}
        footer={
          <>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words(stage === "confirmed" ? "close" : "cancel")}
            </button>
            {stage !== "confirmed" && (
              <button
                type="submit"
                className="btn primary"
                disabled={make.isPending || confirm.isPending}
              >
                {words(stage === "link" ? "phone.make" : "phone.confirm")}
              </button>
            )}
          </>
        }
      >
        {stage === "link" && (
          <>
            {isOver && <p role="alert">{words("phone.dialog.over")}</p>}
            <p className="mid">{words("phone.about")}</p>
            {isLoopback(location.hostname) && (
              <p className="note">{words("phone.loopback", { host: location.host })}</p>
            )}
          </>
        )}
        {stage === "digits" && make.data && (
          <>
            <p className="mid">{words("phone.link")}</p>
            <Copyable text={make.data.url} />
            <Field
              label={words("phone.digits")}
              hint={words("phone.digits.hint")}
              wrong={result && wrongOf(result)}
              name="digits"
              required
              inputMode="numeric"
              pattern="[0-9]{4}"
              maxLength={4}
              autoComplete="off"
            />
          </>
        )}
        {stage === "confirmed" && <p role="status">{words("phone.confirmed")}</p>}
        {problem && <Failure error={problem} />}
      </Dialog>
    </form>
  );
}

function wrongOf({ state, triesLeft }: { state: string; triesLeft: number }): string {
  return state === "not_opened"
    ? words("phone.not_opened")
    : words("phone.wrong", { n: triesLeft });
}
