// Pushing a session's commits: what goes and what stays, before the button; and what came of it.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useChange } from "../../calls/use-call.ts";
import { Dialog } from "../../design/dialog.tsx";
import { Failure } from "../../design/failure.tsx";
import { Field } from "../../design/field.tsx";
import { Plain } from "../../design/plain.tsx";
import { clock } from "../../words/figures.ts";
import { words } from "../../words/words.ts";
import { WebLink } from "./web-link.tsx";
import { useGit, type GitState } from "./use-git.ts";

export function PushDialog({
  session,
  onClose,
}: {
  session: Session;
  onClose: () => void;
}): ReactNode {
  const { sessionId, reachable } = session;
  const git = useGit(session, true);
  const push = useChange("push_session", ["get_session_git", "search_sessions"]);
  const hasCommits = git !== undefined && git.commits !== 0;
  const rests = !reachable || !hasCommits || push.isPending;
  if (push.isSuccess) return <Pushed pushed={push.data} onClose={onClose} />;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        const form = new FormData(event.currentTarget);
        const title = (form.get("title") as string).trim();
        const body = (form.get("body") as string).trim();
        const about = { ...(title !== "" && { title }), ...(body !== "" && { body }) };
        push.mutate({ sessionId, ...about });
      }}
    >
      <Dialog
        title={words("push.title")}
        onClose={onClose}
        footer={
          <>
            <button
              type="button"
              className="btn bare"
              disabled={rests}
              onClick={() => push.mutate({ sessionId, openPr: false })}
            >
              {words("push.only")}
            </button>
            <span className="push" />
            <button type="button" className="btn" onClick={onClose}>
              {words("cancel")}
            </button>
            <button type="submit" className="btn primary" disabled={rests}>
              {words(push.isPending ? "push.pushing" : "push")}
            </button>
          </>
        }
      >
        {git && <WhatGoes git={git} />}
        {!reachable && <p className="mid">{words("push.offline")}</p>}
        <Field
          label={words("push.pr_title")}
          name="title"
          defaultValue={session.title ?? ""}
          maxLength={200}
          autoComplete="off"
        />
        <label className="field">
          <span>{words("push.pr_body")}</span>
          <textarea className="input tall" name="body" maxLength={20_000} />
        </label>
        {push.isError && <Failure error={push.error} />}
      </Dialog>
    </form>
  );
}

function WhatGoes({ git }: { git: GitState }): ReactNode {
  const { branch, commits, unpushedCommits, uncommittedFiles, live, takenAt } = git;
  return (
    <ul className="stack">
      {branch !== null && (
        <li>
          {words("push.branch")}{" "}
          <code>
            <Plain text={branch} />
          </code>
        </li>
      )}
      {commits === 0 ? (
        <li className="mid">{words("push.nothing")}</li>
      ) : (
        commits !== null &&
        unpushedCommits !== null && (
          <li>{words("push.commits", { commits, unpushed: unpushedCommits })}</li>
        )
      )}
      {uncommittedFiles !== null && uncommittedFiles > 0 && (
        <li className="mid">{words("push.stay", { n: uncommittedFiles })}</li>
      )}
      {!live && takenAt !== null && (
        <li className="mid">{words("changes.as_of", { time: clock(takenAt) })}</li>
      )}
    </ul>
  );
}

interface Outcome {
  branch: string;
  pullRequestUrl: string | null;
  pullRequestError: string | null;
  pullRequestMessage: string | null;
  compareUrl: string | null;
}

function Pushed({ pushed, onClose }: { pushed: Outcome; onClose: () => void }): ReactNode {
  const { branch, pullRequestUrl, pullRequestError, pullRequestMessage, compareUrl } = pushed;
  return (
    <Dialog
      title={words(pullRequestUrl === null ? "push.done" : "push.done.pr")}
      onClose={onClose}
      footer={
        <>
          <span className="push" />
          <button type="button" className="btn primary" onClick={onClose}>
            {words("close")}
          </button>
        </>
      }
    >
      <p role="status">
        {words("push.pushed")}{" "}
        <code>
          <Plain text={branch} />
        </code>
      </p>
      {pullRequestUrl !== null && <WebLink address={pullRequestUrl} />}
      {pullRequestMessage !== null && pullRequestError !== "not_requested" && (
        <p>
          {words("push.no_pr")} <Plain text={pullRequestMessage} />
        </p>
      )}
      {pullRequestUrl === null && compareUrl !== null && (
        <p>
          {words("push.compare")} <WebLink address={compareUrl} />
        </p>
      )}
    </Dialog>
  );
}
