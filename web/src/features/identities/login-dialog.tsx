// Signing in to an agent on a host, in a browser: either a code that is typed there, or one that is brought back from
// there. The agent on the host logs in; nothing of it is stored in Hawser.
import type { LoginAttempt } from "@hawser/client";
import { useQuery, useQueryClient, type UseMutationResult } from "@tanstack/react-query";
import { useEffect, type ReactNode } from "react";
import type { Input } from "../../calls/call.ts";
import { isRefused } from "../../calls/refused.ts";
import { read, useChange } from "../../calls/use-call.ts";
import { Copyable } from "../../design/copyable.tsx";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { safeLink } from "../../design/safe-link.ts";
import { exactly } from "../../words/times.ts";
import { words } from "../../words/words.ts";

const pollMs = 2_000;
const shownBy = ["list_agent_identities", "get_instance", "list_agent_kinds"] as const;

export function LoginDialog({
  title,
  start,
  onAgain,
  onClose,
}: {
  title: string;
  start: UseMutationResult<LoginAttempt, Error, Input<"start_agent_login">>;
  /** Begins another attempt. */
  onAgain: () => void;
  onClose: () => void;
}): ReactNode {
  if (start.data) {
    const attempt = start.data;
    return (
      <Attempt
        key={attempt.loginId}
        title={title}
        attempt={attempt}
        onAgain={onAgain}
        onClose={onClose}
      />
    );
  }
  return (
    <Dialog title={title} onClose={onClose}>
      {start.isError ? (
        <Failure error={start.error} onTryAgain={onAgain} />
      ) : (
        <p className="mid row" role="status">
          <Mark state="run" /> {words("login.starting")}
        </p>
      )}
    </Dialog>
  );
}

function Attempt({
  title,
  attempt,
  onAgain,
  onClose,
}: {
  title: string;
  attempt: LoginAttempt;
  onAgain: () => void;
  onClose: () => void;
}): ReactNode {
  const { loginId } = attempt;
  const queries = useQueryClient();
  const submit = useChange("submit_agent_login", shownBy);
  const poll = useQuery({
    ...read("poll_agent_login", { loginId }),
    refetchInterval: ({ state }) =>
      (state.data ?? attempt).status === "pending" && !isRefused(state.error, "not_found")
        ? pollMs
        : false,
  });
  const now = submit.data ?? poll.data ?? attempt;
  const isDone = now.status === "done";
  useEffect(() => {
    if (!isDone) return;
    for (const action of shownBy) void queries.invalidateQueries({ queryKey: [action] });
  }, [isDone, queries]);
  const reason =
    now.error ?? (isRefused(submit.error, "login_failed") ? submit.error!.message : null);
  const hasEnded = now.status === "error" || reason !== null || isRefused(poll.error, "not_found");
  return (
    <Dialog
      title={title}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn" onClick={onClose}>
            {words("close")}
          </button>
          {hasEnded && !isDone && (
            <button type="button" className="btn primary" onClick={onAgain}>
              {words("login.again")}
            </button>
          )}
        </>
      }
    >
      {isDone ? (
        <Done attempt={now} />
      ) : hasEnded ? (
        <div role="alert">
          <p className="medium">{words("login.ended")}</p>
          {reason !== null && (
            <p className="mid">
              <Plain text={reason} />
            </p>
          )}
        </div>
      ) : (
        <>
          <Page attempt={attempt} />
          {attempt.flow === "paste_code" ? (
            <CodeField
              isSending={submit.isPending}
              onCode={(code) => submit.mutate({ loginId, code })}
            />
          ) : (
            <p className="dim row" role="status">
              <Mark state="run" /> {words("login.waiting")}
            </p>
          )}
          {submit.error && <Failure error={submit.error} />}
          <p className="dim small">{words("login.may_close")}</p>
        </>
      )}
    </Dialog>
  );
}

/** The page to open, and for the flow with a device code what to type there. The address comes from the host. */
function Page({ attempt: { authorizationUrl, userCode, flow } }: { attempt: LoginAttempt }) {
  const link = safeLink(authorizationUrl);
  return (
    <>
      <p className="mid">{words(`login.${flow}`)}</p>
      {userCode !== null && (
        <div className="big-code">
          <Copyable text={userCode} />
        </div>
      )}
      {link ? (
        <a className="btn primary big" href={link.href} target="_blank" rel="noopener noreferrer">
          {words("login.open", { host: link.host })}
        </a>
      ) : (
        <p className="rule">
          <Plain text={authorizationUrl} />
        </p>
      )}
    </>
  );
}

/** Sends what is pasted at once; what is typed, with Enter. */
function CodeField({
  isSending,
  onCode,
}: {
  isSending: boolean;
  onCode: (code: string) => void;
}): ReactNode {
  const send = (text: string) => {
    const code = text.trim();
    if (code !== "" && !isSending) onCode(code);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        send(new FormData(event.currentTarget).get("code") as string);
      }}
    >
      <Field
        label={words("login.code")}
        hint={words(isSending ? "login.sending" : "login.code.hint")}
        name="code"
        readOnly={isSending}
        autoComplete="off"
        spellCheck={false}
        maxLength={4096}
        onPaste={(event) => {
          // The field takes it as well, so that the person sees what is sent.
          send(event.clipboardData.getData("text"));
        }}
      />
    </form>
  );
}

function Done({ attempt: { account, expiresAt } }: { attempt: LoginAttempt }): ReactNode {
  return (
    <p className="row" role="status">
      <Mark state="done" />
      <span>
        {account === null ? (
          words("login.done")
        ) : (
          <Plain text={words("login.done.as", { account })} />
        )}{" "}
        {expiresAt !== null && words("login.until", { time: exactly(expiresAt) })}
      </span>
    </p>
  );
}
