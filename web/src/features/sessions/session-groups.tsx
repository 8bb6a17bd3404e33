// Sessions in four groups: who waits for an answer, who is at work, who rests, what is over. In the sidebar and on the
// page of all sessions.
import type { SessionOverview } from "@hawser/client";
import { Link } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useRead } from "../../calls/use-call.ts";
import { Age } from "../../design/ago.tsx";
import { Mark } from "../../design/mark.tsx";
import { Plain } from "../../design/plain.tsx";
import { words } from "../../words/words.ts";
import type { Groups } from "./use-groups.ts";
import { groups, markOf, titleOf, type SessionGroup } from "./words.ts";

/** Rows of a group that are drawn before somebody asks for more. */
const firstShown = 50;

interface SessionGroupsProps {
  list: Groups;
  closed: ReadonlySet<SessionGroup>;
  onToggle: (group: SessionGroup) => void;
  /** Sessions in which this person has written something that is not sent. */
  drafts: ReadonlySet<string>;
}

export function SessionGroups(props: SessionGroupsProps): ReactNode {
  const { list } = props;
  return groups
    .filter(
      (group) =>
        list.rows[group].length > 0 ||
        (list.counts[group]?.n ?? 0) > 0 ||
        list.pages[group].hasMore,
    )
    .map((group) => <Group key={group} group={group} {...props} />);
}

function Group({
  group,
  list,
  closed,
  onToggle,
  drafts,
}: SessionGroupsProps & { group: SessionGroup }): ReactNode {
  const [shown, setShown] = useState(firstShown);
  const { data } = useRead("search_instances", {});
  const rows = list.rows[group];
  const { hasMore, readMore, isReading } = list.pages[group];
  const isOpen = !closed.has(group);
  const title = words(`sessions.${group}`);
  const count = list.counts[group];
  const Chevron = isOpen ? ChevronDown : ChevronRight;
  return (
    <div role="group" aria-label={title}>
      <h2>
        <button type="button" aria-expanded={isOpen} onClick={() => onToggle(group)}>
          <Chevron className="icon" aria-hidden /> {title}{" "}
          {count && words(count.more ? "sessions.many" : "sessions.count", { n: count.n })}
        </button>
      </h2>
      {isOpen &&
        rows
          .slice(0, shown)
          .map(({ session }) => (
            <SessionLine
              key={session.sessionId}
              session={session}
              group={group}
              host={
                data?.instances.find(({ instanceId }) => instanceId === session.instanceId)?.name
              }
              hasDraft={drafts.has(session.sessionId)}
            />
          ))}
      {isOpen && (rows.length > shown || hasMore) && (
        <button
          type="button"
          className="btn bare sm"
          disabled={isReading}
          onClick={() => {
            setShown(shown + firstShown);
            if (rows.length <= shown + firstShown && hasMore) readMore();
          }}
        >
          {words("sessions.more")}
        </button>
      )}
    </div>
  );
}

function SessionLine({
  session,
  group,
  host,
  hasDraft,
}: {
  session: SessionOverview;
  group: SessionGroup;
  host: string | undefined;
  hasDraft: boolean;
}): ReactNode {
  const { sessionId } = session;
  const isQuiet = group === "idle" || group === "ended";
  return (
    <Link
      to="/sessions/$sessionId"
      params={{ sessionId }}
      className={isQuiet ? "item quiet" : "item"}
      title={session.status === "cleanup_failed" ? words("sessions.cleanup") : undefined}
    >
      <Mark {...markOf(session)} />
      <span className="t cut">
        <Plain text={titleOf(session)} />
      </span>
      <span className="w">
        {hasDraft && <span className="tag">{words("sessions.draft")}</span>}{" "}
        <Age at={timeOf(session, group)} />
      </span>
      {!isQuiet && (
        <span className="sub cut">
          <Below session={session} host={host} />
        </span>
      )}
    </Link>
  );
}

/** What it waits for, or else where it works. */
function Below({
  session,
  host,
}: {
  session: SessionOverview;
  host: string | undefined;
}): ReactNode {
  const { oldestRequest, reachable, agentKind } = session;
  const asked = oldestRequest?.title;
  if (typeof asked === "string") return <Plain text={asked} />;
  const name = host ?? words("sessions.host");
  if (!reachable) return <Plain text={words("sessions.was_running", { host: name })} />;
  return <Plain text={`${name} · ${agentKind}`} />;
}

function timeOf(session: SessionOverview, group: SessionGroup): string {
  const { oldestRequest, turnStartedAt, lastActivityAt, endedAt, createdAt } = session;
  const at =
    group === "waiting"
      ? oldestRequest?.raisedAt
      : group === "running"
        ? turnStartedAt
        : group === "idle"
          ? lastActivityAt
          : endedAt;
  return at ?? createdAt;
}
