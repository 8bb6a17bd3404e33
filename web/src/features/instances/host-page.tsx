// One host: its agents, accounts, directories, sessions and problems, and what can be done with it. What a host that is
// not online said last is shown as such.
import type { InstanceDetail } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { useQuery } from "@tanstack/react-query";
import { ChevronLeft, Folder, FolderGit2, GitBranch, TriangleAlert } from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { isRefused } from "../../calls/refused.ts";
import { read } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { useNow } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Mark } from "../../design/mark.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { AgentsSection, FallbackSection } from "../agents/index.ts";
import { AccountsSection, useAccounts } from "../identities/index.ts";
import { HostActions } from "./host-actions.tsx";
import { HostMachine } from "./host-machine.tsx";
import { Operations, Warnings } from "./host-operations.tsx";
import { KeptFiles } from "./kept-files.tsx";
import { restOf, saidOfHost } from "./status.ts";

/** Once, when a host is opened. Its part of the build is that of the sessions' pages. */
const SessionsOnHost = lazy(async () => {
  const { loadSessionsOnHost } = await import("../sessions/index.ts");
  return { default: (await loadSessionsOnHost()).SessionsOnHost };
});

const renewEveryMs = 15_000;

interface Leave {
  onGone: () => void;
  onSession: (sessionId: string) => void;
}

export function HostPage({ instanceId, ...leave }: { instanceId: string } & Leave): ReactNode {
  const host = useQuery({
    ...read("get_instance", { instanceId }),
    refetchInterval: renewEveryMs,
  });
  if (host.data) return <HostView host={host.data} {...leave} />;
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

function HostView({ host, onGone, onSession }: { host: InstanceDetail } & Leave): ReactNode {
  usePageTitle(host.name);
  const now = useNow(5_000);
  const { mark, word, detail } = saidOfHost(host, now);
  const machine = host.host;
  const rest = restOf(host);
  const isPaired = host.status !== "pairing";
  const accounts = useAccounts(host);
  /** What the host says first decides, until the accounts are known. */
  const loginOf = (kind: string) => {
    if (!accounts.listing?.live) return "unknown";
    return accounts.own.some((each) => each.kind === kind && each.authenticated) ? "own" : "host";
  };
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
            {detail ?? word}.{host.status === "offline" && <> {words("host.as_reported")}</>}
          </span>
        </p>
      )}
      <div className="page">
        <div className="two">
          <div>
            <AgentsSection host={host} loginOf={loginOf} rest={rest} />
            {isPaired && <AccountsSection host={host} accounts={accounts} rest={rest} />}
            <Roots host={host} />
          </div>
          <div>
            <Warnings host={host} />
            <Operations host={host} />
            <Now instanceId={host.instanceId} />
            {isPaired && (
              <>
                <FallbackSection host={host} />
                <KeptFiles host={host} onRestored={onSession} />
                <HostMachine host={host} rest={rest} />
              </>
            )}
          </div>
        </div>
      </div>
    </>
  );
}

function Now({ instanceId }: { instanceId: string }): ReactNode {
  if (!useMay("sessions:view")) return null;
  return (
    <section className="sec first">
      <header>
        <h2>{words("host.now")}</h2>
      </header>
      <Suspense fallback={<Skeleton lines={2} />}>
        <SessionsOnHost instanceId={instanceId} />
      </Suspense>
    </section>
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
