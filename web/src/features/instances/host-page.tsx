// One host: its agents, directories, operations and problems, and what can be done with it.
import type { InstanceDetail } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, Folder, FolderGit2, GitBranch, TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { read } from "../../calls/use-call.ts";
import { Ago, useNow } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Mark } from "../../design/mark.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { HostActions } from "./host-actions.tsx";
import { HostAgents } from "./host-agents.tsx";
import { HostSessions } from "./host-sessions.tsx";
import { saidOfHost } from "./status.ts";

const renewEveryMs = 15_000;

export function HostPage({
  instanceId,
  onGone,
}: {
  instanceId: string;
  onGone: () => void;
}): ReactNode {
  const host = useQuery({
    ...read("get_instance", { instanceId }),
    refetchInterval: renewEveryMs,
  });
  if (host.data) return <HostView host={host.data} onGone={onGone} />;
  return (
    <div className="page">
      {host.isPending && <Skeleton lines={6} />}
      {isRefused(host.error, "not_found") ? (
        <div className="blank">
          <h1>{words("host.unknown")}</h1>
          <p>{words("page.unknown.where")}</p>
        </div>
      ) : (
        host.isError && <Failure error={host.error} onTryAgain={() => void host.refetch()} />
      )}
    </div>
  );
}

function HostView({ host, onGone }: { host: InstanceDetail; onGone: () => void }): ReactNode {
  usePageTitle(host.name);
  const now = useNow(5_000);
  const { mark, word, detail } = saidOfHost(host, now);
  const machine = host.host;
  return (
    <>
      <header className="bar">
        <Link to="/hosts" className="back only-phone" aria-label={words("host.back")}>
          <ChevronLeft className="icon" aria-hidden />
        </Link>
        <div className="grow">
          <h1 className="cut">
            <Plain text={host.name} />
          </h1>
          <div className="meta">
            <Mark state={mark} /> <span>{word}</span>
            {machine && (
              <>
                <span className="sep">/</span>
                <span className="cut">
                  <Plain text={machine.hostname} />
                </span>
                <span className="sep no-phone">/</span>
                <span className="no-phone">
                  {machine.os}, {machine.arch}
                </span>
                <span className="sep no-phone">/</span>
                <span className="no-phone">
                  {words("host.daemon", { version: host.daemonVersion ?? words("none") })}
                </span>
              </>
            )}
          </div>
        </div>
        <HostActions host={host} onGone={onGone} />
      </header>
      {host.status !== "online" && (
        <p className="strip" role="status">
          <TriangleAlert className="icon" aria-hidden />
          <span>
            {detail ?? word}
            {host.status === "offline" && <> {words("host.as_reported")}</>}
          </span>
        </p>
      )}
      <div className="page">
        <div className="two">
          <div>
            <HostAgents host={host} />
            <Roots host={host} />
          </div>
          <div>
            <Problems host={host} />
            <HostSessions host={host} />
          </div>
        </div>
      </div>
    </>
  );
}

function Roots({ host }: { host: InstanceDetail }): ReactNode {
  return (
    <section className="sec">
      <header>
        <h2>{words("roots")}</h2>
        <p>{words("roots.where")}</p>
      </header>
      <div className="group">
        {host.roots.length === 0 && <p className="line dim">{words("roots.none")}</p>}
        {host.roots.map(({ path, type, branch, remote }) => (
          <div key={path} className="line">
            {type === "folder" ? (
              <Folder className="icon dim" aria-hidden />
            ) : (
              <FolderGit2 className="icon dim" aria-hidden />
            )}
            <div className="grow">
              <span className="mono">
                <Plain text={path} />
              </span>
              <span className="sub">
                {remote === null ? words(`roots.${type}`) : <Plain text={remote} />}
              </span>
            </div>
            {branch !== null && (
              <span className="tag mono">
                <GitBranch className="icon s" aria-hidden />
                <span className="cut">
                  <Plain text={branch} />
                </span>
              </span>
            )}
          </div>
        ))}
      </div>
    </section>
  );
}

/** What the host's owner should solve, and long work on the host. Absent without any. */
function Problems({ host: { warnings, operations } }: { host: InstanceDetail }): ReactNode {
  return (
    <>
      {warnings.length > 0 && (
        <section className="sec first">
          <header>
            <h2>{words("host.warnings")}</h2>
          </header>
          {warnings.map(({ code, message }) => (
            <div key={code} className="note">
              <TriangleAlert className="icon amber" aria-hidden />
              <p className="grow">{message}</p>
            </div>
          ))}
        </section>
      )}
      {operations.length > 0 && (
        <section className="sec first">
          <header>
            <h2>{words("host.operations")}</h2>
          </header>
          <div className="group">
            {operations.map(({ operationId, subject, state, step, percent, startedAt }) => (
              <div key={operationId} className="line">
                <Mark state={state === "running" ? "run" : state === "done" ? "done" : "err"} />
                <div className="grow">
                  <span className="medium">{subject}</span>
                  <span className="sub">{step}</span>
                </div>
                <span className="dim small">
                  {percent === null || state !== "running" ? (
                    <Ago at={startedAt} />
                  ) : (
                    words("percent", { percent })
                  )}
                </span>
              </div>
            ))}
          </div>
        </section>
      )}
    </>
  );
}
