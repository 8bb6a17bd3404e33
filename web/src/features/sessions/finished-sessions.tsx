// Sessions whose turn has ended and whose end this person has not seen, for the inbox.
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { Age } from "../../design/ago.tsx";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import { groupOf, isUnread, markOf, titleOf } from "./words.ts";

export function FinishedSessions(): ReactNode {
  const { data } = useRead("search_sessions", { limit: 200 });
  const sessions = (data?.sessions ?? []).filter(
    (session) => groupOf(session) === "idle" && isUnread(session),
  );
  if (sessions.length === 0) return null;
  return (
    <>
      <h2>{words("inbox.finished")}</h2>
      {sessions.map((session) => (
        <Link
          key={session.sessionId}
          to="/sessions/$sessionId"
          params={{ sessionId: session.sessionId }}
          className="q-item quiet"
        >
          <Mark state={markOf(session).state} />
          <span className="what cut">
            <Plain text={titleOf(session)} />
          </span>
          <span className="w">
            <Age at={session.lastActivityAt ?? session.createdAt} />
          </span>
          <span className="from cut">
            {words(`inbox.finished.${session.lastOutcome ?? "completed"}`)} · {session.agentKind}
          </span>
        </Link>
      ))}
    </>
  );
}
