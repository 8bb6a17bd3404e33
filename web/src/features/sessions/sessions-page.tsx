// /sessions: all sessions of the organization in their groups, limited to a host, a person, an agent kind or a text. The
// limits stand in the address, so that a list can be passed on.
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import { useMay } from "../../calls/use-may.ts";
import { Failure } from "../../design/failure.tsx";
import { usePageTitle } from "../../design/page-title.ts";
import { Skeleton } from "../../design/skeleton.tsx";
import { listMark, useListKeys } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { personQuery } from "../access/index.ts";
import { useDrafts } from "../drafts/index.ts";
import { useClosedGroups } from "./closed-groups.ts";
import { agentKinds, FilterMenus, type Limits } from "./filter-menus.tsx";
import { SessionGroups } from "./session-groups.tsx";
import { useGroups } from "./use-groups.ts";
import { useHeld } from "./use-held.ts";

interface SessionsPageProps {
  limits: Limits;
  onLimit: (change: Limits) => void;
}

export function SessionsPage({ limits, onLimit }: SessionsPageProps): ReactNode {
  usePageTitle(words("nav.sessions"));
  const { host, person, text } = limits;
  const kind = agentKinds.find((each) => each === limits.kind);
  const ref = useRef<HTMLDivElement>(null);
  const [closed, toggle] = useClosedGroups();
  const [isHeld, hold] = useHeld();
  const filter = {
    ...(host !== undefined && { instanceId: host }),
    ...(person !== undefined && { startedBy: person }),
    ...(kind !== undefined && { agentKind: kind }),
    ...(text !== undefined && { query: text }),
  };
  const key = JSON.stringify(filter);
  const mayStart = useMay("sessions:edit");
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
        <div className="filters">
          <TextFilter text={text ?? ""} onChange={(next) => onLimit({ text: next || undefined })} />
          <FilterMenus host={host} person={person} kind={kind} onChange={onLimit} />
        </div>
        <div ref={ref} className="sessions" {...listMark} {...hold}>
          <Found key={key} filter={filter} closed={closed} onToggle={toggle} isHeld={isHeld} />
        </div>
      </div>
      <ListKeys list={ref} />
    </>
  );
}

function ListKeys({ list }: { list: { current: HTMLDivElement | null } }): ReactNode {
  useListKeys(list, ".item", { isOfPage: true });
  return null;
}

function Found({
  filter,
  closed,
  onToggle,
  isHeld,
}: {
  filter: Parameters<typeof useGroups>[0]["filter"] & object;
  closed: ReturnType<typeof useClosedGroups>[0];
  onToggle: ReturnType<typeof useClosedGroups>[1];
  isHeld: boolean;
}): ReactNode {
  const { data: person } = useQuery(personQuery);
  const drafts = useDrafts(person?.user.userId);
  const isLimited = Object.keys(filter).length > 0;
  // Whoever looks for something wants to find it among those that are over, too.
  const isEndedOpen = isLimited || !closed.has("ended");
  const list = useGroups({ filter, isEndedOpen, isHeld });
  // The service looks through so many sessions at once: a page without one can have others behind it.
  const isEmpty =
    Object.values(list.counts).every((count) => !count?.n) &&
    Object.values(list.pages).every(({ hasMore }) => !hasMore);
  const open = new Set(closed);
  if (isLimited) open.delete("ended");
  if (list.isLoading) return <Skeleton lines={8} />;
  return (
    <>
      {list.error && (
        <Failure error={list.error} what={words("sessions.failed")} onTryAgain={list.readAgain} />
      )}
      {isEmpty && !list.error && (
        <p className="blank">{words(isLimited ? "sessions.none_such" : "sessions.none")}</p>
      )}
      <SessionGroups list={list} closed={open} onToggle={onToggle} drafts={drafts} />
    </>
  );
}

const pauseMs = 250;

/** What is typed is looked for after a pause. */
function TextFilter({
  text,
  onChange,
}: {
  text: string;
  onChange: (text: string) => void;
}): ReactNode {
  const [typed, setTyped] = useState(text);
  const change = useEffectEvent((next: string) => {
    if (next !== text) onChange(next);
  });
  useEffect(() => {
    const timer = setTimeout(() => change(typed.trim()), pauseMs);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      className="input"
      type="search"
      value={typed}
      aria-label={words("sessions.filter.text")}
      placeholder={words("sessions.filter.text")}
      onChange={(event) => setTyped(event.target.value)}
    />
  );
}
