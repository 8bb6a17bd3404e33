// /sessions: the sessions of the organization, grouped by what a person has to know: who waits for an answer, who is
// at work, what rests, what is over.
import type { SessionOverview } from "@hawser/client";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import type { ReactNode } from "react";
import { call } from "../../calls/call.ts";
import { keyOf } from "../../calls/keys.ts";
import { useRead } from "../../calls/use-call.ts";
import { useMay } from "../../calls/use-may.ts";
import { Ago } from "../../design/ago.tsx";
import { Failure } from "../../design/failure.tsx";
import { Mark } from "../../design/mark.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Plain } from "../../design/plain.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { words } from "../../words/words.ts";
import { groupOf, markOf, titleOf, type SessionGroup } from "./words.ts";

const pageSize = 100;
const groups: readonly SessionGroup[] = ["waiting", "running", "idle", "ended"];

export function SessionsPage(): ReactNode {
  usePageTitle(words("nav.sessions"));
  const sessions = useInfiniteQuery({
    queryKey: keyOf("search_sessions", { limit: pageSize }),
    queryFn: ({ pageParam, signal }) =>
      call(
        "search_sessions",
        { limit: pageSize, ...(pageParam !== null && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  });
  const instances = useRead("search_instances", {});
  const mayStart = useMay("sessions:edit");
  const all = sessions.data?.pages.flatMap((page) => page.sessions) ?? [];
  const hostOf = (session: SessionOverview) =>
    instances.data?.instances.find(({ instanceId }) => instanceId === session.instanceId)?.name;
  const ofGroup = Map.groupBy(all, groupOf);
  return (
    <>
      <header className="bar">
        <h1 className="grow">{words("nav.sessions")}</h1>
        {mayStart && (
          <Link to="/new" className="btn">
            <Plus className="icon" aria-hidden /> {words("start.new")}
          </Link>
        )}
      </header>
      <div className="page">
        {sessions.isPending && <Skeleton lines={8} />}
        {sessions.isError && (
          <Failure
            error={sessions.error}
            what={words("sessions.failed")}
            onTryAgain={() => void sessions.refetch()}
          />
        )}
        {sessions.data && all.length === 0 && <p className="blank">{words("sessions.none")}</p>}
        <div className="sessions">
          {groups.map((group) => {
            const sessionsOf = ofGroup.get(group);
            const title = words(`sessions.${group}`);
            return (
              sessionsOf && (
                <section key={group} aria-label={title}>
                  <h2>
                    {title} {sessionsOf.length}
                  </h2>
                  {sessionsOf.map((session) => (
                    <SessionLine key={session.sessionId} session={session} host={hostOf(session)} />
                  ))}
                </section>
              )
            );
          })}
        </div>
        {sessions.hasNextPage && (
          <button
            type="button"
            className="btn"
            disabled={sessions.isFetchingNextPage}
            onClick={() => void sessions.fetchNextPage()}
          >
            {words("sessions.more")}
          </button>
        )}
      </div>
    </>
  );
}

function SessionLine({
  session,
  host,
}: {
  session: SessionOverview;
  host: string | undefined;
}): ReactNode {
  const { sessionId, createdAt, lastActivityAt, endedAt, agentKind } = session;
  return (
    <Link to="/sessions/$sessionId" params={{ sessionId }} className="session-line">
      <Mark {...markOf(session)} />
      <span className="t cut">
        <Plain text={titleOf(session)} />
      </span>
      <span className="w">
        <Ago at={endedAt ?? lastActivityAt ?? createdAt} />
      </span>
      <span className="sub cut">
        {host !== undefined && (
          <>
            <Plain text={host} /> ·{" "}
          </>
        )}
        {agentKind}
      </span>
    </Link>
  );
}
