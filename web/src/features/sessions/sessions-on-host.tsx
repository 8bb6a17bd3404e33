// The sessions of one host that are not over, as lists of sessions show them.
import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { read } from "../../calls/use-call.ts";
import { Failure } from "../../design/failure.tsx";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import { markOf, titleOf } from "./words.ts";

const mostShown = 50;
/** The groups of sessions that are not over, in the order in which lists show them. */
const groups = ["waiting", "running", "idle"] as const;

export function SessionsOnHost({ instanceId }: { instanceId: string }): ReactNode {
  const pages = useQueries({
    queries: groups.map((group) =>
      read("search_sessions", { instanceId, group, limit: mostShown }),
    ),
  });
  const failed = pages.find(({ isError }) => isError);
  if (failed) {
    return (
      <Failure
        error={failed.error}
        what={words("host.sessions.failed")}
        onTryAgain={() => void failed.refetch()}
      />
    );
  }
  const isKnown = pages.every(({ data }) => data !== undefined);
  const sessions = pages.flatMap(({ data }) => data?.sessions ?? []);
  const hasMore = pages.some(({ data }) => (data?.nextCursor ?? null) !== null);
  return (
    <div className="group">
      {isKnown && sessions.length === 0 && !hasMore && <p className="line dim">{words("none")}</p>}
      {sessions.map((session) => (
        <Link
          key={session.sessionId}
          to="/sessions/$sessionId"
          params={{ sessionId: session.sessionId }}
          className="line"
        >
          <Mark {...markOf(session)} />
          <div className="grow">
            <span className="cut wide-block">
              <Plain text={titleOf(session)} />
            </span>
            <span className="sub cut">
              {session.agentKind}, <Plain text={session.startedBy.name} />
            </span>
          </div>
        </Link>
      ))}
      {hasMore && (
        <Link to="/sessions" className="line">
          <span className="marine">{words("host.sessions.all")}</span>
        </Link>
      )}
    </div>
  );
}
