// Follows the organization's events for as long as the pages are open. What an event names is read again.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore } from "react";
import { otherPerson, pageHeaders, pagePerson } from "../calls/page-person.ts";
import { tabs, watchWake } from "../streams/browser.ts";
import { createConnectionStatus, type ConnectionStatus } from "../streams/connection-status.ts";
import { createFeed } from "../streams/feed.ts";
import { followFeed } from "../streams/follow-feed.ts";

interface FeedOf {
  organizationId: string;
  /** A new sign-in connects again: the stream ended with the former one. */
  signInId: string;
}

export interface FeedNow {
  status: ConnectionStatus;
  /** How often this page has connected. */
  connections: number;
}

export function useFeed({ organizationId, signInId }: FeedOf): FeedNow {
  const queries = useQueryClient();
  const [status] = useState(createConnectionStatus);
  const [connections, setConnections] = useState(0);
  useEffect(() => {
    const ended = new AbortController();
    const feed = createFeed({
      refresh: (isTouched) =>
        void queries.invalidateQueries({ predicate: ({ queryKey }) => isTouched(queryKey) }),
    });
    void followFeed({
      url: "/api/events",
      name: `${organizationId} ${signInId}`,
      headers: pageHeaders,
      onEvent: feed.onEvent,
      onState(state) {
        status.set(state);
        if (state.is === "refused" && state.code === otherPerson) pagePerson.noteOther();
        if (state.is === "live") setConnections((before) => before + 1);
      },
      watchWake,
      ...tabs,
      signal: ended.signal,
    });
    return () => {
      ended.abort();
      feed.stop();
    };
  }, [organizationId, signInId, queries, status]);
  return { status: useSyncExternalStore(status.subscribe, status.get), connections };
}
