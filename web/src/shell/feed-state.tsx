// Whether the pages follow the organization's events: at the foot of the sidebar, and after a while as a strip that says
// of when the page is.
import { useQueryClient } from "@tanstack/react-query";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { call } from "../calls/call.ts";
import { Mark } from "../design/mark.tsx";
import { personQuery } from "../features/access/index.ts";
import type { ConnectionStatus } from "../streams/connection-status.ts";
import { clock } from "../words/figures.ts";
import { words } from "../words/words.ts";

export function FeedState({ feed }: { feed: ConnectionStatus }): ReactNode {
  const isLive = feed.shows === "live";
  if (feed.shows === "refused" && feed.status === 401) return <SignedOut />;
  return (
    <span className="row" role="status">
      <Mark state={isLive ? "on" : "wait"} />
      <span className="wide-only">{words(isLive ? "feed.live" : "feed.reconnecting")}</span>
    </span>
  );
}

function SignedOut(): ReactNode {
  const queries = useQueryClient();
  // The call asks for the sign-in. If another tab has signed in meanwhile, the person is read again all the same.
  const signIn = () =>
    call("whoami", {}).then(
      () => queries.invalidateQueries({ queryKey: personQuery.queryKey }),
      () => {},
    );
  return (
    <span className="row" role="status">
      <Mark state="wait" />
      <span className="wide-only">{words("sign_in.again")}</span>
      <button type="button" className="btn sm wide-only" onClick={() => void signIn()}>
        {words("sign_in.submit")}
      </button>
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
