// The entries of a session's log that contain a text. The service looks at a part of the log with each call, so they
// come in one after the other.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { call } from "../../calls/call.ts";

/** More than anybody goes through. */
const mostMatches = 1_000;
const pageSize = 100;

export interface Matches {
  /** The oldest first. */
  seqs: readonly number[];
  /** Whether all of the log was looked at, as far as anybody goes through the matches. */
  isComplete: boolean;
  error: Error | null;
}

export function useMatches(sessionId: string, text: string): Matches {
  const query = text.slice(0, 200);
  const { data, error, hasNextPage, isFetching, fetchNextPage } = useInfiniteQuery({
    queryKey: ["search_session_events", { sessionId, query }],
    queryFn: ({ pageParam, signal }) =>
      call(
        "search_session_events",
        { sessionId, query, after: pageParam, limit: pageSize },
        { signal },
      ),
    initialPageParam: 0,
    getNextPageParam: ({ nextAfter }) => nextAfter,
    enabled: query !== "",
    staleTime: Infinity,
    // Typing makes many of them.
    gcTime: 0,
  });
  const seqs = data?.pages.flatMap(({ matches }) => matches.map(({ seq }) => seq)) ?? [];
  const isMore = hasNextPage && seqs.length < mostMatches;
  useEffect(() => {
    if (isMore && !isFetching && !error) void fetchNextPage();
  }, [isMore, isFetching, error, fetchNextPage]);
  return { seqs, isComplete: data !== undefined && !isMore, error };
}
