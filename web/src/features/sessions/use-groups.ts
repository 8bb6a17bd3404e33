// The sessions of the organization, by group. Every list of sessions reads the same pages, and the organization's events
// refresh them. A group is read on its own, so that one that waits is found behind thousands that are over.
import type { SessionOverview } from "@hawser/client";
import { useInfiniteQuery, type InfiniteData } from "@tanstack/react-query";
import { useState } from "react";
import { call, type Input, type Result } from "../../calls/call.ts";
import { keyOf } from "../../calls/keys.ts";
import { arrange, nothingArranged, type Arrangement } from "./arrange.ts";
import { groups, type SessionGroup } from "./words.ts";

const pageSize = 100;

/** What a list is limited to. */
export type SessionFilter = Pick<
  Input<"search_sessions">,
  "query" | "instanceId" | "agentKind" | "startedBy"
>;
type Page = Result<"search_sessions">;

export interface GroupPages {
  hasMore: boolean;
  readMore: () => void;
  isReading: boolean;
}

export interface Groups {
  rows: Arrangement;
  /** How many there are; at least so many if `more` is true. Undefined while it is not known. */
  counts: Record<SessionGroup, { n: number; more: boolean } | undefined>;
  pages: Record<SessionGroup, GroupPages>;
  isLoading: boolean;
  error: Error | null;
  readAgain: () => void;
}

interface UseGroups {
  filter?: SessionFilter;
  /** Those that are over are many, and are read when somebody opens them. */
  isEndedOpen: boolean;
  /** A hand is on the list. */
  isHeld: boolean;
}

/** The service counts up to this number. */
const mostCounted = 1_000;

export function useGroups({ filter = {}, isEndedOpen, isHeld }: UseGroups): Groups {
  const reads = {
    waiting: useGroup("waiting", filter, true),
    running: useGroup("running", filter, true),
    idle: useGroup("idle", filter, true),
    ended: useGroup("ended", filter, isEndedOpen),
  };
  const [arrangement, setArrangement] = useState(nothingArranged);
  /** How many pages of each group are arranged. What is read for the first time was asked for, so it is shown. */
  const [arranged, setArranged] = useState<Partial<Record<SessionGroup, number>>>({});
  const pagesOf = (group: SessionGroup) => reads[group].data?.pages.length ?? 0;
  const isNew = (group: SessionGroup) => pagesOf(group) !== (arranged[group] ?? 0);
  const held = new Set(groups.filter((group) => isHeld && !isNew(group)));
  const rows = arrange(arrangement, newestOf(groups.map((group) => reads[group])), held);
  if (rows !== arrangement) setArrangement(rows);
  if (groups.some(isNew)) setArranged(ofEach(pagesOf));
  // The service counts all sessions of an organization or of a host, whatever else the list is limited to.
  const { query, agentKind, startedBy } = filter;
  const isCounted = !query && agentKind === undefined && startedBy === undefined;
  const counts = reads.waiting.data?.pages[0]?.counts;
  const all = groups.map((group) => reads[group]);
  return {
    rows,
    counts: ofEach((group) => {
      const { data, hasNextPage } = reads[group];
      if (isCounted)
        return counts ? { n: counts[group], more: counts[group] >= mostCounted } : undefined;
      return data && { n: rows[group].length, more: hasNextPage };
    }),
    pages: ofEach((group) => ({
      hasMore: reads[group].hasNextPage,
      readMore: () => void reads[group].fetchNextPage(),
      isReading: reads[group].isFetchingNextPage || reads[group].isLoading,
    })),
    isLoading: all.some(({ isLoading }) => isLoading),
    error: all.find(({ error }) => error)?.error ?? null,
    readAgain: () => all.forEach(({ isError, refetch }) => isError && void refetch()),
  };
}

function useGroup(group: SessionGroup, filter: SessionFilter, enabled: boolean) {
  const input = {
    ...filter,
    group,
    limit: pageSize,
    ...(group === "waiting" && { withCounts: true }),
  };
  return useInfiniteQuery({
    queryKey: keyOf("search_sessions", input),
    queryFn: ({ pageParam, signal }) =>
      call(
        "search_sessions",
        { ...input, ...(pageParam !== null && { cursor: pageParam }) },
        { signal },
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }: Page) => nextCursor,
    enabled,
  });
}

interface Read {
  data: InfiniteData<Page> | undefined;
  dataUpdatedAt: number;
}

/** A session that changes its group is in two answers for a moment: the later answer is right. */
function newestOf(reads: readonly Read[]): SessionOverview[] {
  const found = new Map<string, SessionOverview>();
  for (const { data } of reads.toSorted((a, b) => a.dataUpdatedAt - b.dataUpdatedAt)) {
    for (const session of data?.pages.flatMap(({ sessions }) => sessions) ?? []) {
      found.set(session.sessionId, session);
    }
  }
  return [...found.values()];
}

function ofEach<Value>(of: (group: SessionGroup) => Value): Record<SessionGroup, Value> {
  return { waiting: of("waiting"), running: of("running"), idle: of("idle"), ended: of("ended") };
}
