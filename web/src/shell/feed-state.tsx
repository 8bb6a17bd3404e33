// Whether the pages follow the organization's events, at the foot of the sidebar. What an event names is read again.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useState, useSyncExternalStore, type ReactNode } from "react";
import { organization } from "../calls/organization.ts";
import { Mark } from "../design/mark.tsx";
import { tabs, watchWake } from "../streams/browser.ts";
import { createConnectionStatus } from "../streams/connection-status.ts";
import { createFeed } from "../streams/feed.ts";
import { followFeed } from "../streams/follow-feed.ts";
import { words } from "../words/words.ts";

interface FeedStateProps {
  organizationId: string;
  /** A new sign-in connects again: the stream ended with the former one. */
  signInId: string;
}

export function FeedState({ organizationId, signInId }: FeedStateProps): ReactNode {
  const queries = useQueryClient();
  const [status] = useState(createConnectionStatus);
  useEffect(() => {
    const ended = new AbortController();
    const feed = createFeed({
      refresh: (isTouched) =>
        void queries.invalidateQueries({ predicate: ({ queryKey }) => isTouched(queryKey) }),
    });
    void followFeed({
      url: "/api/events",
      name: `${organizationId} ${signInId}`,
      headers: () => organization.header(),
      onEvent: feed.onEvent,
      onState: status.set,
      watchWake,
      ...tabs,
      signal: ended.signal,
    });
    return () => {
      ended.abort();
      feed.stop();
    };
  }, [organizationId, signInId, queries, status]);
  const isLive = useSyncExternalStore(status.subscribe, status.get).shows === "live";
  return (
    <span className="row" role="status">
      <Mark state={isLive ? "on" : "wait"} />
      {words(isLive ? "feed.live" : "feed.reconnecting")}
    </span>
  );
}
