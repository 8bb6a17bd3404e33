// What the record of a session says.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { Ago } from "../../design/ago.tsx";
import { Plain } from "../../design/plain.tsx";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";

export function DetailsTab({ session }: { session: Session }): ReactNode {
  const { directory, worktreeBranch, model, startedBy, createdAt, endedAt } = session;
  return (
    <dl className="kv">
      <dt>{words("details.agent")}</dt>
      <dd>{kindName(session.agentKind)}</dd>
      {model && (
        <>
          <dt>{words("details.model")}</dt>
          <dd>
            <Plain text={model.modelId} />
          </dd>
        </>
      )}
      {directory !== null && (
        <>
          <dt>{words("details.directory")}</dt>
          <dd className="mono">
            <Plain text={directory} />
          </dd>
        </>
      )}
      {worktreeBranch !== null && (
        <>
          <dt>{words("details.branch")}</dt>
          <dd className="mono">
            <Plain text={worktreeBranch} />
          </dd>
        </>
      )}
      <dt>{words("details.started")}</dt>
      <dd>
        <Plain text={startedBy.name ?? words("session.somebody")} />, <Ago at={createdAt} />
      </dd>
      {endedAt !== null && (
        <>
          <dt>{words("details.ended")}</dt>
          <dd>
            <Ago at={endedAt} />
          </dd>
        </>
      )}
    </dl>
  );
}
