// The numbers beside the pages: how many requests wait, how many hosts are online.
import type { ReactNode } from "react";
import { useRead } from "../calls/use-call.ts";
import { useWaitingInTitle } from "../design/page-title.ts";
import { words } from "../words/words.ts";

/** How many requests wait for an answer: the only amber number, also in the tab's title. */
export function RequestCount(): ReactNode {
  const { data } = useRead("search_requests", { scope: "pending", limit: 200 });
  const count = data?.requests.filter(({ answerable }) => answerable).length ?? 0;
  useWaitingInTitle(count);
  if (count === 0) return null;
  return (
    <b className="count ask">
      {count}
      <span className="sr"> {words("nav.inbox.wait")}</span>
    </b>
  );
}

/** How many hosts are online, of how many. Absent until it is known, and if there are more than one page. */
export function HostCount(): ReactNode {
  const { data } = useRead("search_instances", {});
  if (!data || data.nextCursor !== null || data.instances.length === 0) return null;
  const online = data.instances.filter(({ status }) => status === "online").length;
  return (
    <span className="count wide-only">
      {words("nav.hosts.count", { online, all: data.instances.length })}
    </span>
  );
}
