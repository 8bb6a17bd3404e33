// The list of hosts: what each says now, and how old it is if it is old.
import type { Instance } from "@hawser/client";
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useState, type ReactNode } from "react";
import { read } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Rope } from "../../design/rope.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { HostStatus, ReportedAgents } from "./host-status.tsx";
import { PairDialog } from "./pair-dialog.tsx";
import { summaryOf } from "./status.ts";

/** A change that no event reports, such as the time of the last sign, is at most this old. */
const renewEveryMs = 15_000;

export function HostsPage(): ReactNode {
  usePageTitle(words("nav.hosts"));
  const [cursors, setCursors] = useState<string[]>([]);
  const [isPairing, setIsPairing] = useState(false);
  const mayPair = useMay("instances:edit");
  const pages = useQueries({
    queries: [undefined, ...cursors].map((cursor) => ({
      ...read("search_instances", cursor === undefined ? {} : { cursor }),
      refetchInterval: renewEveryMs,
    })),
  });
  const hosts = pages.flatMap(({ data }) => data?.instances ?? []);
  const failed = pages.find(({ isError }) => isError);
  const next = pages.at(-1)?.data?.nextCursor ?? null;
  const isComplete = next === null && pages.every(({ data }) => data !== undefined);
  const pair = mayPair && (
    <button type="button" className="btn primary push" onClick={() => setIsPairing(true)}>
      <Plus className="icon" aria-hidden /> {words("pair.open")}
    </button>
  );
  return (
    <>
      <header className="bar only-phone title">
        <h1>{words("nav.hosts")}</h1>
      </header>
      <div className="page">
        {pages[0]!.isPending && <Skeleton lines={6} />}
        {failed && (
          <Failure
            error={failed.error}
            what={words("hosts.failed")}
            onTryAgain={() => void failed.refetch()}
          />
        )}
        {isComplete && hosts.length === 0 && <NoHosts>{pair}</NoHosts>}
        {hosts.length > 0 && (
          <>
            <div className="page-head">
              <div>
                <h1>{words("nav.hosts")}</h1>
                <p>
                  {isComplete
                    ? words("hosts.about.counts", { counts: summaryOf(hosts) })
                    : words("hosts.about")}
                </p>
              </div>
              {pair}
            </div>
            <HostTable hosts={hosts} />
            {next !== null && (
              <button
                type="button"
                className="btn"
                onClick={() => setCursors((known) => [...known, next])}
              >
                {words("more")}
              </button>
            )}
          </>
        )}
      </div>
      {isPairing && <PairDialog onClose={() => setIsPairing(false)} />}
    </>
  );
}

function HostTable({ hosts }: { hosts: Instance[] }): ReactNode {
  return (
    <table className="table">
      <thead>
        <tr>
          <th>{words("hosts.host")}</th>
          <th>{words("hosts.status")}</th>
          <th>{words("hosts.agents")}</th>
          <th className="num gap">{words("hosts.sessions")}</th>
          <th>{words("hosts.daemon")}</th>
          <th>{words("hosts.last_seen")}</th>
        </tr>
      </thead>
      <tbody>
        {hosts.map((host) => (
          <tr key={host.instanceId}>
            <td className="names">
              <Link to="/hosts/$instanceId" params={{ instanceId: host.instanceId }}>
                <b>
                  <Plain text={host.name} />
                </b>
              </Link>
              <span className="sub">
                {host.host ? <Plain text={host.host.hostname} /> : words("hosts.not_connected")}
              </span>
            </td>
            <td data-th={words("hosts.status")} className="says">
              <HostStatus host={host} />
            </td>
            <td data-th={words("hosts.agents")}>
              <ReportedAgents host={host} />
            </td>
            <td data-th={words("hosts.sessions")} className="num gap no-phone">
              {host.activeSessionCount}
            </td>
            <td data-th={words("hosts.daemon")} className="no-phone mono">
              {host.daemonVersion ?? <span className="dim">{words("none")}</span>}
            </td>
            <td data-th={words("hosts.last_seen")} className="dim no-phone nowrap">
              <LastSeen host={host} />
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function LastSeen({ host: { status, lastSeenAt } }: { host: Instance }): ReactNode {
  if (status === "online") return words("time.now");
  return lastSeenAt === null ? words("time.never") : <Ago at={lastSeenAt} />;
}

function NoHosts({ children }: { children: ReactNode }): ReactNode {
  return (
    <div className="blank">
      <Rope state="waiting" label={words("rope.waiting")} />
      <h1 className="quiet">{words("hosts.none")}</h1>
      <p>{words("hosts.none.what")}</p>
      {children}
    </div>
  );
}
