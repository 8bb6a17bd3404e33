// The sessions of the sidebar.
import type { SessionOverview } from "@hawser/client";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams } from "@tanstack/react-router";
import { useRef, type ReactNode } from "react";
import { Failure } from "../../design/failure.tsx";
import { Skeleton } from "../../design/skeleton.tsx";
import { listMark, useAct, useListKeys } from "../../keyboard/index.ts";
import { words } from "../../words/words.ts";
import { personQuery } from "../access/index.ts";
import { useDrafts } from "../drafts/index.ts";
import { useClosedGroups } from "./closed-groups.ts";
import { SessionGroups } from "./session-groups.tsx";
import { useGroups } from "./use-groups.ts";
import { useHeld } from "./use-held.ts";
import { isUnread } from "./words.ts";

export function SessionList(): ReactNode {
  const ref = useRef<HTMLDivElement>(null);
  const [closed, toggle] = useClosedGroups();
  const [isHeld, hold] = useHeld();
  const list = useGroups({ isEndedOpen: !closed.has("ended"), isHeld });
  const { data: person } = useQuery(personQuery);
  const drafts = useDrafts(person?.user.userId);
  useListKeys(ref, ".item", { isOfPage: false });
  useUnreadKey(list.rows.idle.map(({ session }) => session));
  const isEmpty = !list.isLoading && Object.values(list.counts).every((count) => !count?.n);
  return (
    <div
      ref={ref}
      className="list"
      role="region"
      aria-label={words("nav.sessions")}
      tabIndex={0}
      {...listMark}
      {...hold}
    >
      {list.isLoading && <Skeleton lines={6} />}
      {list.error && (
        <Failure error={list.error} what={words("sessions.failed")} onTryAgain={list.readAgain} />
      )}
      {isEmpty && !list.error && <p className="dim">{words("sessions.none")}</p>}
      <SessionGroups list={list} closed={closed} onToggle={toggle} drafts={drafts} />
      {!isEmpty && (
        <Link to="/sessions" activeOptions={{ exact: true }} className="item quiet">
          <span />
          <span className="t">{words("sessions.all")}</span>
        </Link>
      )}
    </div>
  );
}

/** U leads to the next session whose turn has ended unseen. */
function useUnreadKey(idle: readonly SessionOverview[]): void {
  const navigate = useNavigate();
  const { sessionId: open } = useParams({ strict: false });
  const next = idle.find((session) => isUnread(session) && session.sessionId !== open);
  useAct(
    "unread",
    () => void navigate({ to: "/sessions/$sessionId", params: { sessionId: next!.sessionId } }),
    next !== undefined,
  );
}
