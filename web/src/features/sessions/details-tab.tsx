// What the record of a session says, what it has used, and the ports that its servers listen on.
import type { Session } from "@hawser/client";
import type { ReactNode } from "react";
import { useHost } from "../../calls/use-host.ts";
import { Ago } from "../../design/ago.tsx";
import { Plain } from "../../design/plain.tsx";
import { money } from "../../words/figures.ts";
import { kindName } from "../../words/kinds.ts";
import { words } from "../../words/words.ts";
import type { LogSnapshot } from "../session-log/index.ts";
import { KeptFiles } from "./kept-files.tsx";
import { SessionPorts } from "./session-ports.tsx";
import { StoredRules } from "./stored-rules.tsx";
import { isOver } from "./words.ts";

export function DetailsTab({
  session,
  snapshot,
}: {
  session: Session;
  snapshot: LogSnapshot;
}): ReactNode {
  const { directory, worktreeBranch, startedBy, createdAt, endedAt } = session;
  const { model, mode, accountOf, fallback } = session;
  const host = useHost(session.instanceId);
  // The log is ahead of the record.
  const used = snapshot.state.usage;
  return (
    <>
      <dl className="kv">
        <Pair name={words("details.agent")}>{kindName(session.agentKind)}</Pair>
        {fallback && (
          <Pair name={words("details.instead_of")}>{kindName(fallback.preferredKind)}</Pair>
        )}
        {model && (
          <Pair name={words("details.model")}>
            <Plain text={model.modelId} />
          </Pair>
        )}
        {directory !== null && (
          <Pair name={words("request.runs_in")}>
            {worktreeBranch !== null && words("worktree_of")}{" "}
            <span className="mono">
              <Plain text={directory} />
            </span>{" "}
            {host && words("request.on", { host: host.name })}
          </Pair>
        )}
        {worktreeBranch !== null && (
          <Pair name={words("details.branch")} isMono>
            <Plain text={worktreeBranch} />
          </Pair>
        )}
        <Pair name={words("details.started")}>
          <Plain text={startedBy.name ?? words("session.somebody")} />, <Ago at={createdAt} />
        </Pair>
        {accountOf && (
          <Pair name={words("details.account")}>
            <Plain text={accountOf.name ?? words("session.somebody")} />
          </Pair>
        )}
        {endedAt !== null && (
          <Pair name={words("details.ended")}>
            <Ago at={endedAt} />
          </Pair>
        )}
      </dl>
      {isOver(session) && worktreeBranch !== null && session.reachable && (
        <KeptFiles session={session} />
      )}
      <h2 className="kv-h">{words("details.decides")}</h2>
      <dl className="kv">
        <Pair name={words("details.mode")}>{words(`details.mode.${mode}`)}</Pair>
      </dl>
      {!isOver(session) && session.reachable && (
        <StoredRules session={session} rulesSeq={snapshot.state.rulesSeq} />
      )}
      {used && (
        <>
          <h2 className="kv-h">{words("details.used")}</h2>
          <dl className="kv">
            {used.costUsd !== null && (
              <Pair name={words("details.cost")}>{money(used.costUsd, used.costIsEstimate)}</Pair>
            )}
            <Pair name={words("details.tokens")}>
              {words("details.tokens.figures", {
                read: inThousands(
                  used.usage.inputTokens + used.usage.cacheReadTokens + used.usage.cacheWriteTokens,
                ),
                written: inThousands(used.usage.outputTokens),
              })}
            </Pair>
          </dl>
        </>
      )}
      {!isOver(session) && session.reachable && <SessionPorts session={session} />}
    </>
  );
}

function Pair({
  name,
  isMono = false,
  children,
}: {
  name: string;
  isMono?: boolean;
  children: ReactNode;
}): ReactNode {
  return (
    <>
      <dt>{name}</dt>
      <dd className={isMono ? "mono" : undefined}>{children}</dd>
    </>
  );
}

const inThousands = (count: number) =>
  new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(count);
