// Whether the pages follow the organization's events: at the foot of the sidebar, and after a while as a strip that says
// of when the page is.
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { Mark } from "../design/mark.tsx";
import type { ConnectionStatus } from "../streams/connection-status.ts";
import { clock } from "../words/figures.ts";
import { words } from "../words/words.ts";

export function FeedState({ feed }: { feed: ConnectionStatus }): ReactNode {
  const isLive = feed.shows === "live";
  return (
    <span className="row" role="status">
      <Mark state={isLive ? "on" : "wait"} />
      <span className="wide-only">{words(isLive ? "feed.live" : "feed.reconnecting")}</span>
    </span>
  );
}

export function FeedStrip({ feed }: { feed: ConnectionStatus }): ReactNode {
  if (feed.shows !== "reconnecting" || !feed.strip) return null;
  return (
    <p className="strip" role="status">
      <TriangleAlert className="icon" aria-hidden />
      {feed.since === undefined
        ? words("session.connecting")
        : words("session.offline_since", { time: clock(feed.since) })}
    </p>
  );
}
